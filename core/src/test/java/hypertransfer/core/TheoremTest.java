package hypertransfer.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.core.Space.Base;
import hypertransfer.core.Space.Controlled;
import hypertransfer.core.Space.Hyperball;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Theorem 1 and its relatives: a carrier follows its target through 2,000 steps, optimizer states included. */
class TheoremTest {
    private static final int STEPS = 2_000;
    private static final int LOSS_EVERY = 20; // steps: it costs as much as a gradient
    private static final double EXACT = 1e-10;
    private static final double[] START = Draws.vector(new SplittableRandom(5), Landscape.SIZE, 1.5);

    /** A direction to run, and the peak rates that suit it. */
    enum Kind {
        MOMENTUM(() -> new Direction.Momentum(0.9), 0.1),
        ADAM(Direction.Adam::new, 0.01),
        NORMALIZED(Direction.Normalized::new, 0.02);

        final Supplier<Direction> direction;
        final double baseRate;

        Kind(Supplier<Direction> direction, double baseRate) {
            this.direction = direction;
            this.baseRate = baseRate;
        }

        Schedule schedule(Space target) {
            double peak = target instanceof Hyperball ? 0.03 : baseRate;
            return Schedule.linear(peak, STEPS, 0.05, 0.1);
        }
    }

    /** Who follows whom, and how large the target's matrix is at the start, as a multiple of the carrier's. */
    record Pair(Space target, Space carrier, double size) {}

    private static final List<Pair> PAIRS = List.of(
            new Pair(new Base(0.5), new Hyperball(), 1), // HyperTransfer
            new Pair(new Base(0), new Hyperball(), 1),
            new Pair(new Hyperball(), new Base(0.5), 1), // Inverse HyperTransfer
            new Pair(new Hyperball(), new Base(0), 1),
            new Pair(new Base(0.1), new Base(0.8), 1), // the weight-decay transfer, both ways
            new Pair(new Base(0.8), new Base(0.1), 1),
            new Pair(new Base(0.5), new Base(0), 1),
            new Pair(new Hyperball(), new Hyperball(), 2.5), // and what the paper does not have
            new Pair(new Hyperball(), new Base(0.5), 0.4),
            new Pair(new Base(0.5), new Hyperball(), 2.5),
            new Pair(new Base(0.5), new Base(0.5), 0.4),
            new Pair(new Base(0.1), new Base(0.8), 2.5));

    /**
     * Any norm policy as any other: a Hyperball and each, both ways, and some of them together. A small Hyperball is one that
     * the gradient points out of: with one of radius 1.5 no step goes outward, and the brake does nothing.
     *
     * @param floor one that acts: a direction of length 2 needs a floor above 2 / |w|
     */
    private static Stream<Pair> policies(double floor) {
        Space floored = new Controlled(0, floor, 1, false), braked = new Controlled(0.2, 0, 0.5, false);
        Space pinned = new Controlled(0.5, 0, 1, true), all = new Controlled(0.1, floor + 1, 0.5, true);
        Space halfway = new Explicit.Halfway(0.1, 1.5);
        return Stream.concat(
                Stream.of(floored, braked, pinned, all, halfway)
                        .flatMap(policy -> Stream.of(
                                new Pair(policy, new Hyperball(), 1), new Pair(new Hyperball(), policy, 0.4))),
                Stream.of(
                        new Pair(pinned, new Base(0.5), 1),
                        new Pair(new Base(0.5), braked, 1),
                        new Pair(all, floored, 2.5),
                        new Pair(pinned, halfway, 1)));
    }

    @ParameterizedTest(name = "{0} {1} {2}, invariant {3}")
    @MethodSource("policies")
    void anyNormPolicyFollowsAnyOther(Kind kind, Pair pair, GradientRule rule, boolean invariant) {
        carrierFollowsItsTarget(kind, pair, rule, invariant);
    }

    static Stream<Arguments> policies() {
        return Stream.of(Kind.MOMENTUM, Kind.NORMALIZED)
                .flatMap(kind -> policies(kind == Kind.MOMENTUM ? 0.3 : 3)
                        .flatMap(pair -> Stream.of(
                                Arguments.of(kind, pair, GradientRule.REPRESENTATIVE, false),
                                Arguments.of(kind, pair, GradientRule.RESCALED, true),
                                Arguments.of(kind, pair, GradientRule.AT_RADIUS, true))));
    }

    /** A policy that counts the steps in which it lengthens the direction, brakes it, and sets the norm. */
    private record Counted(Space space, int[] steps) implements Space {
        static Space of(Space space, int[] steps) {
            return space instanceof Base || space instanceof Hyperball ? space : new Counted(space, steps);
        }

        @Override
        public double decay() {
            return space.decay();
        }

        @Override
        public double lift(double r, double u, double cos) {
            double lift = space.lift(r, u, cos);
            steps[0] += lift > 1 ? 1 : 0;
            return lift;
        }

        @Override
        public double pull(double r, double u, double cos) {
            double pull = space.pull(r, u, cos);
            steps[1] += pull > decay() ? 1 : 0;
            return pull;
        }

        @Override
        public double after(double free, double along) {
            double norm = space.after(free, along);
            steps[2] += Math.abs(norm / free - 1) > 1e-6 ? 1 : 0;
            return norm;
        }

        /** The steps of the part of the policy that has the fewest. */
        static int fewest(Space space, int[] steps) {
            boolean[] has = switch (space) {
                case Controlled c -> new boolean[] {c.floor() > 0, c.brake() < 1, c.pinned()};
                case Explicit.Halfway h -> new boolean[] {false, false, true};
                default -> new boolean[3];
            };
            return IntStream.range(0, 3)
                    .filter(part -> has[part])
                    .map(part -> steps[part])
                    .min()
                    .orElse(STEPS);
        }
    }

    static Stream<Arguments> exact() {
        List<Arguments> runs = new ArrayList<>();
        for (Kind kind : Kind.values()) {
            for (Pair pair : PAIRS) {
                runs.add(Arguments.of(kind, pair, GradientRule.RESCALED, true));
                runs.add(Arguments.of(kind, pair, GradientRule.REPRESENTATIVE, true));
                runs.add(Arguments.of(kind, pair, GradientRule.REPRESENTATIVE, false));
                runs.add(Arguments.of(kind, pair, GradientRule.AT_RADIUS, true));
            }
        }
        return runs.stream();
    }

    @ParameterizedTest(name = "{0} {1} {2}, invariant {3}")
    @MethodSource("exact")
    void carrierFollowsItsTarget(Kind kind, Pair pair, GradientRule rule, boolean invariant) {
        Errors errors = follow(kind, pair, rule, invariant);
        assertThat(errors.direction).isLessThan(EXACT);
        assertThat(errors.norm).isLessThan(EXACT);
        assertThat(errors.loss).isLessThan(EXACT);
        assertThat(errors.travelled).as("the run goes somewhere").isGreaterThan(0.3);
        assertThat(errors.acted).as("steps in which the policies act").isGreaterThan(STEPS / 4);
    }

    /**
     * The controls, or the tests above could not fail. With the gradient left alone the carrier goes elsewhere. Where the
     * loss is not scale-invariant, lemma 1 does not hold: neither rescaling nor evaluating at the radius is enough.
     */
    @ParameterizedTest
    @EnumSource(Kind.class)
    void otherwiseItGoesElsewhere(Kind kind) {
        Pair fair = new Pair(new Hyperball(), new Base(0.5), 1), pair = new Pair(new Base(0.5), new Hyperball(), 1);
        assertThat(follow(kind, fair, GradientRule.AS_IS, true).direction).isGreaterThan(1e-3);
        assertThat(follow(kind, pair, GradientRule.RESCALED, false).direction).isGreaterThan(1e-3);
        assertThat(follow(kind, pair, GradientRule.AT_RADIUS, false).direction).isGreaterThan(1e-3);
    }

    /** The landscape itself: its gradient against central differences, and its invariance. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void gradientByHandIsTheGradient(boolean invariant) {
        Landscape landscape = Landscape.draw(invariant, 11);
        double[] g = landscape.gradient(START, 7);
        double h = 1e-5;
        for (int i = 0; i < START.length; i++) {
            double[] ahead = START.clone();
            double[] back = START.clone();
            ahead[i] += h;
            back[i] -= h;
            double slope = (landscape.value(ahead, 7) - landscape.value(back, 7)) / (2 * h);
            assertThat(g[i]).isCloseTo(slope, within(1e-8)); // h^2 of the formula, and 1e-16 / h of its rounding
        }
        double change = landscape.value(Explicit.scaled(3, START), 7) - landscape.value(START, 7);
        if (invariant) {
            assertThat(change).isCloseTo(0, within(1e-14));
        } else {
            assertThat(Math.abs(change)).isGreaterThan(0.1);
        }
    }

    /**
     * The largest errors met: of the direction of w, of s against |w| (relative), of the loss; how far it went, and in how
     * many steps the policies acted.
     */
    record Errors(double direction, double norm, double loss, double travelled, int acted) {}

    /** A run of the target with its own vectors: what every carrier that follows it is held against. */
    private record Target(Kind kind, Space space, double size, boolean invariant) {
        private static final Map<Target, List<double[]>> PATHS = new HashMap<>();

        /** The matrix after each step. */
        List<double[]> path() {
            return PATHS.computeIfAbsent(this, Target::walk);
        }

        private List<double[]> walk() {
            Landscape landscape = Landscape.draw(invariant, 11);
            Direction direction = kind.direction.get();
            Schedule schedule = kind.schedule(space);
            List<double[]> path = new ArrayList<>();
            double[] w = Explicit.scaled(size, START);
            for (int t = 0; t < STEPS; t++) {
                w = Explicit.step(space, w, direction.of(landscape.gradient(w, t)), schedule.rate(t));
                path.add(w);
            }
            return path;
        }
    }

    /** Runs the carrier with only the algebra. */
    private static Errors follow(Kind kind, Pair pair, GradientRule rule, boolean invariant) {
        Landscape landscape = Landscape.draw(invariant, 11);
        int[] target = new int[3], carrier = new int[3]; // steps in which their policies act
        Transfer transfer = new Transfer(Counted.of(pair.target, target), Counted.of(pair.carrier, carrier), rule);
        List<double[]> path = new Target(kind, pair.target, pair.size, invariant).path();
        State state = State.start("w", Explicit.norm(START)).withTargetNorm(pair.size * Explicit.norm(START));
        Direction direction = kind.direction.get();
        Schedule schedule = kind.schedule(pair.target);
        double[] w = START;
        double off = 0, norm = 0, loss = 0;
        for (int t = 0; t < STEPS; t++) {
            double[] seen = Explicit.scaled(transfer.evaluationScale(state), w);
            double[] g = Explicit.scaled(transfer.gradientScale(state), landscape.gradient(seen, t));
            double[] u = direction.of(g);
            Step step = transfer.step(state, Explicit.reading(w, u), schedule.rate(t));
            w = Explicit.moved(step, w, u);
            state = step.next();
            double[] at = path.get(t);
            off = Math.max(off, Explicit.apart(w, at));
            norm = Math.max(norm, Math.abs(state.targetNorm() / Explicit.norm(at) - 1));
            if (t % LOSS_EVERY == 0) {
                double[] same = invariant ? w : Explicit.scaled(state.targetNorm() / Explicit.norm(w), w);
                loss = Math.max(loss, Math.abs(landscape.value(same, t) - landscape.value(at, t)));
            }
        }
        int acted = Math.min(Counted.fewest(pair.target, target), Counted.fewest(pair.carrier, carrier));
        return new Errors(off, norm, loss, Explicit.apart(w, START), acted);
    }
}
