package hypertransfer.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.core.Space.Base;
import hypertransfer.core.Space.Hyperball;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Theorem 1 and its relatives: a carrier follows its target through 2,000 steps, optimizer states included. */
class TheoremTest {
    private static final int STEPS = 2_000;
    private static final double EXACT = 1e-10;
    private static final double[] START = Draws.vector(new SplittableRandom(5), Landscape.SIZE, 1.5);

    /** A direction to run, and the peak rates that suit it. */
    enum Kind {
        MOMENTUM(() -> new Direction.Momentum(0.9), 0.1),
        ADAM(Direction.Adam::new, 0.01),
        MUON(Direction.Muon::new, 0.02);

        final Supplier<Direction> direction;
        final double baseRate;

        Kind(Supplier<Direction> direction, double baseRate) {
            this.direction = direction;
            this.baseRate = baseRate;
        }

        Schedule schedule(Space target) {
            double peak = target instanceof Base ? baseRate : 0.03;
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
        Errors errors = follow(kind, pair, rule, Landscape.draw(invariant, 11));
        assertThat(errors.direction).isLessThan(EXACT);
        assertThat(errors.norm).isLessThan(EXACT);
        assertThat(errors.loss).isLessThan(EXACT);
        assertThat(errors.travelled).as("the run goes somewhere").isGreaterThan(0.3);
    }

    /**
     * The controls, or the tests above could not fail. With the gradient left alone the carrier goes elsewhere. Where the
     * loss is not scale-invariant, lemma 1 does not hold: neither rescaling nor evaluating at the radius is enough.
     */
    @ParameterizedTest
    @EnumSource(Kind.class)
    void otherwiseItGoesElsewhere(Kind kind) {
        Pair fair = new Pair(new Hyperball(), new Base(0.5), 1), pair = new Pair(new Base(0.5), new Hyperball(), 1);
        Landscape invariant = Landscape.draw(true, 11), other = Landscape.draw(false, 11);
        assertThat(follow(kind, fair, GradientRule.AS_IS, invariant).direction).isGreaterThan(1e-3);
        assertThat(follow(kind, pair, GradientRule.RESCALED, other).direction).isGreaterThan(1e-3);
        assertThat(follow(kind, pair, GradientRule.AT_RADIUS, other).direction).isGreaterThan(1e-3);
    }

    /**
     * What the rule is for: carrier and target, both under it, evaluate the network at matrices that agree to some
     * roundings of a double, over the whole run and whatever their own norms became.
     */
    @ParameterizedTest
    @EnumSource(Kind.class)
    void carrierAndTargetUnderTheRuleEvaluateAtTheSameMatrix(Kind kind) {
        Landscape landscape = Landscape.draw(true, 11);
        Space target = new Base(0.5);
        List<double[]> own = evaluated(kind, new Transfer(target, target, GradientRule.AT_RADIUS), landscape);
        List<double[]> carried =
                evaluated(kind, new Transfer(target, new Hyperball(), GradientRule.AT_RADIUS), landscape);
        for (int t = 0; t < STEPS; t++) {
            double apart = Explicit.norm(Explicit.sum(1, own.get(t), -1, carried.get(t)));
            assertThat(apart).as("step " + t).isLessThan(EXACT);
        }
    }

    /** The matrices that a run hands to the network. */
    private static List<double[]> evaluated(Kind kind, Transfer transfer, Landscape landscape) {
        Direction direction = kind.direction.get();
        Schedule schedule = kind.schedule(transfer.target());
        double[] w = START;
        State state = State.start("w", Explicit.norm(w));
        List<double[]> seen = new ArrayList<>();
        for (int t = 0; t < STEPS; t++) {
            double[] at = Explicit.scaled(transfer.evaluationScale(state), w);
            seen.add(at);
            double[] g = Explicit.scaled(transfer.gradientScale(state), landscape.gradient(at, t));
            double[] u = direction.of(g);
            Step step = transfer.step(state, Explicit.reading(w, u), schedule.rate(t));
            w = Explicit.moved(step, w, u);
            state = step.next();
        }
        return seen;
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

    /** The largest errors met: of the direction of w, of s against |w| (relative), of the loss; and how far it went. */
    record Errors(double direction, double norm, double loss, double travelled) {}

    /** Runs the target with its own vectors beside the carrier with only the algebra. */
    private static Errors follow(Kind kind, Pair pair, GradientRule rule, Landscape landscape) {
        Transfer transfer = new Transfer(pair.target, pair.carrier, rule);
        Schedule schedule = kind.schedule(pair.target);
        Direction targetDirection = kind.direction.get();
        Direction direction = kind.direction.get();
        double[] target = Explicit.scaled(pair.size, START);
        double[] w = START;
        State state = State.start("w", Explicit.norm(w)).withTargetNorm(Explicit.norm(target));
        double apart = 0;
        double off = 0;
        double loss = 0;
        for (int t = 0; t < STEPS; t++) {
            target = Explicit.step(
                    pair.target, target, targetDirection.of(landscape.gradient(target, t)), schedule.rate(t));

            double[] at = Explicit.scaled(transfer.evaluationScale(state), w);
            double[] g = Explicit.scaled(transfer.gradientScale(state), landscape.gradient(at, t));
            double[] u = direction.of(g);
            Step step = transfer.step(state, Explicit.reading(w, u), schedule.rate(t));
            w = Explicit.moved(step, w, u);
            state = step.next();

            apart = Math.max(apart, Explicit.apart(w, target));
            off = Math.max(off, Math.abs(state.targetNorm() / Explicit.norm(target) - 1));
            double[] representative = Explicit.scaled(state.targetNorm() / Explicit.norm(w), w);
            double[] same = landscape.invariant() ? w : representative;
            loss = Math.max(loss, Math.abs(landscape.value(same, t) - landscape.value(target, t)));
        }
        return new Errors(apart, off, loss, Explicit.apart(w, START));
    }
}
