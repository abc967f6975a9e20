package hypertransfer.prediction;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.core.Decline;
import hypertransfer.core.Mode;
import hypertransfer.core.Reading;
import hypertransfer.core.Refusal;
import hypertransfer.core.Schedule.Shaped;
import hypertransfer.core.Space;
import hypertransfer.core.Space.Base;
import hypertransfer.core.Space.Hyperball;
import hypertransfer.core.State;
import hypertransfer.core.Step;
import hypertransfer.prediction.Translation.Matrix;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Predictions against closed forms, against vectors drawn at random, and against their own inverses. */
class PredictionTest {
    private static final Expected SQUARE = Expected.muon(128, 128, 1, 0.95);
    private static final Expected TALL = Expected.muon(512, 128, 1, 0.95);
    private static final Memory NO_MEMORY = new Memory(List.of());
    private static final Shaped TENTH = new Shaped(0.03, 400, 0.05, 0.1, new Decline.Linear());

    @Test
    void constantRateReachesTheEquilibrium() {
        some(50, random -> {
            Expected matrix = new Expected(
                    power(random, -1, 1),
                    power(random, -1, 2),
                    Fitted.memory(random.nextDouble(0, 0.98), random.nextInt(1, 500), random.nextInt(1, 500)));
            double rate = power(random, -1.5, -0.5);
            double decay = power(random, -1, 0);
            int steps = (int) Math.ceil(Equilibrium.steps(rate, decay, 1e-12)) + 1_000;
            Shaped schedule = new Shaped(rate, steps, 0, 1, new Decline.Constant());
            Prediction run = Prediction.of(matrix, new Base(decay), schedule);
            Equilibrium end = Equilibrium.of(matrix, rate, decay);
            assertThat(run.norm()[steps - 1]).isCloseTo(end.norm(), within(1e-5 * end.norm()));
            assertThat(run.effective()[steps - 1]).isCloseTo(end.effective(), within(1e-5 * end.effective()));
        });
    }

    /** The closed forms hold for a small product of rate and decay. */
    @Test
    void equilibriumIsTheClosedForm() {
        double b = 0.95;
        double e = 1e-3;
        double l = 1e-3;
        Expected matrix = new Expected(1, 7, Memory.momentum(b));
        Equilibrium end = Equilibrium.of(matrix, e, l);
        double s = Math.sqrt(e * 49 * (1 + b) / ((1 - b) * 2 * l));
        assertThat(end.norm()).isCloseTo(s, within(2e-5 * s));
        double effective = Math.sqrt(2 * e * l * (1 - b) / (1 + b));
        assertThat(end.effective()).isCloseTo(effective, within(2e-5 * effective));
    }

    /** No memory: every step is a right angle, and the recursion is Pythagoras. */
    @Test
    void withoutMemoryTheNormIsPythagoras() {
        Expected matrix = new Expected(3, 2, NO_MEMORY);
        Shaped schedule = new Shaped(0.5, 2, 0, 1, new Decline.Constant());
        assertThat(Prediction.of(matrix, new Base(0.4), schedule).norm()[1])
                .isCloseTo(Math.sqrt(0.64 * 9 + 1), within(1e-15));
    }

    /** Momentum of white noise, with the vectors in hand: the recursion is the mean of many runs. */
    @Test
    void recursionIsTheMeanOfRandomWalksWithMomentum() {
        double b = 0.8;
        int size = 4_000;
        int steps = 60;
        Shaped schedule = new Shaped(0.2, steps, 0.1, 0, new Decline.Linear());
        RandomGenerator random = new SplittableRandom(9);
        double[] w = vector(random, size);
        double[] m = vector(random, size);
        Prediction predicted = Prediction.of(new Expected(1, 1, Memory.momentum(b)), new Base(0.05), schedule);
        double[] norm = predicted.norm();
        for (int t = 0; t < steps; t++) {
            assertThat(norm[t]).as("step " + t).isCloseTo(norm(w), within(0.05));
            double rate = schedule.rate(t);
            w = sum(1 - 0.05 * rate, w, -rate / norm(m), m);
            m = sum(b, m, Math.sqrt(1 - b * b), vector(random, size));
        }
        assertThat(norm[steps - 1]).as("the norm has moved").isGreaterThan(1.2);
    }

    /** On a sphere the way back to the radius decays: as the algebra of a step says, with the vectors in hand. */
    @Test
    void impliedDecayIsThatOfRandomWalksOnASphere() {
        double b = 0.8;
        int size = 4_000, steps = 60;
        Shaped schedule = new Shaped(0.05, steps, 0.1, 1, new Decline.Constant());
        Expected matrix = new Expected(1, 1, Memory.momentum(b));
        Space ball = new Hyperball();
        double[] implied = Prediction.of(matrix, ball, schedule).impliedDecay(matrix, ball);
        RandomGenerator random = new SplittableRandom(9);
        double[] w = vector(random, size), m = vector(random, size);
        State state = State.start("w", norm(w));
        for (int t = 0; t < steps; t++) {
            double[] u = m, v = w;
            Reading reading = new Reading(
                    norm(w),
                    norm(m),
                    IntStream.range(0, size).mapToDouble(i -> u[i] * v[i]).sum());
            Step step = Mode.HYPERBALL.transfer(0).step(state, reading, schedule.rate(t));
            assertThat(implied[t]).as("step " + t).isCloseTo(step.impliedDecay(), within(0.05));
            w = sum(step.keep(), w, -step.push(), m);
            m = sum(b, m, Math.sqrt(1 - b * b), vector(random, size));
            state = step.next();
        }
        assertThat(implied[steps - 1])
                .as("far from a single step's, %s", 0.05 / 2)
                .isGreaterThan(0.15);
    }

    @Test
    void impliedDecayHasItsClosedForms() {
        Shaped schedule = new Shaped(0.3, 50, 0.1, 0, new Decline.Linear());
        Expected forgetful = new Expected(3, 2, NO_MEMORY);
        Prediction ball = Prediction.of(forgetful, new Hyperball(), schedule);
        Prediction base = Prediction.of(SQUARE, new Base(0.2), schedule);
        double[] onBall = ball.impliedDecay(forgetful, new Hyperball());
        double[] inBase = base.impliedDecay(SQUARE, new Base(0.2));
        for (int t = 0; t < 50; t++) {
            double a = ball.effective()[t];
            assertThat(onBall[t]).isCloseTo((1 - 1 / Math.hypot(1, a)) / a, within(1e-13));
            double own = base.effective()[t], unit = Math.ulp(1.0) / own; // of 1 - keep
            assertThat(inBase[t]).isCloseTo(base.nominal()[t] * 0.2 / own, within(unit));
        }
        Prediction still = Prediction.of(SQUARE, new Base(0.2), new Shaped(0, 2, 0, 0, new Decline.Linear()));
        assertThat(still.impliedDecay(SQUARE, new Base(0.2))).containsExactly(0, 0);
    }

    /** The control for the walks: without the memory the same walk is far from predicted. */
    @Test
    void memoryIsNotSmall() {
        Expected forgetful = new Expected(SQUARE.norm(), SQUARE.direction(), NO_MEMORY);
        double with = Prediction.of(SQUARE, new Base(0.1), TENTH).norm()[399];
        double without = Prediction.of(forgetful, new Base(0.1), TENTH).norm()[399];
        assertThat(with / without).isGreaterThan(1.5);
    }

    /** The first step is shorter, early steps add up more, and a long run forgets both. */
    @Test
    void startFades() {
        Expected late = SQUARE.withOnset(new Onset(0.6, 50, 0));
        Expected longer = SQUARE.withOnset(new Onset(0.6, 50, 0.975));
        Space base = new Base(0.1);
        double first = Prediction.of(SQUARE, base, TENTH).effective()[0];
        close(Prediction.of(late, base, TENTH).effective()[0], 0.6 * first, 1e-12);
        assertThat(Prediction.of(longer, base, TENTH).norm()[60])
                .isGreaterThan(1.1 * Prediction.of(late, base, TENTH).norm()[60]);
        Shaped constant = new Shaped(0.05, 4_000, 0, 1, new Decline.Constant());
        double[] end = Prediction.of(longer, base, constant).norm();
        Equilibrium rest = Equilibrium.of(SQUARE, 0.05, 0.1);
        close(end[3_999], rest.norm(), 1e-4);
        assertThat(longer.onset().left(50)).isCloseTo(Math.exp(-1), within(1e-15));
        assertThat(Onset.NONE.left(0)).isZero();
    }

    /** Directions that are one vector as long as all is early: the recursion is the straight line. */
    @Test
    void persistentStartIsAStraightLine() {
        Onset always = new Onset(1, 1e300, Math.nextDown(1.0));
        Expected matrix = new Expected(1, 1, NO_MEMORY).withOnset(always);
        Shaped schedule = new Shaped(0.5, 3, 0, 1, new Decline.Constant());
        double[] norm = Prediction.of(matrix, new Base(0), schedule).norm();
        assertThat(norm[1]).as("a right angle first").isCloseTo(Math.sqrt(1.25), within(1e-12));
        assertThat(norm[2]).as("then twice the same way").isCloseTo(Math.sqrt(2), within(1e-12));
    }

    @Test
    void followingItsOwnEffectiveRatesGivesTheRunBack() {
        some(200, random -> {
            Expected matrix = (random.nextBoolean() ? SQUARE : TALL)
                    .withOnset(new Onset(random.nextDouble(0.1, 1), random.nextDouble(300), random.nextDouble()));
            Space space = new Base(power(random, -3, 0));
            Shaped schedule = new Shaped(
                    power(random, -4, -1), random.nextInt(1, 500), 0.05, random.nextDouble(), new Decline.Cosine());
            Prediction run = Prediction.of(matrix, space, schedule);
            Prediction back = Prediction.following(matrix, space, run.effective());
            double[] nominal = back.nominal();
            double[] norm = back.norm();
            double[] own = run.norm();
            for (int t = 0; t < schedule.steps(); t++) {
                close(nominal[t], schedule.rate(t), 1e-11);
                close(norm[t], own[t], 1e-11);
            }
        });
    }

    @Test
    void pairToTheSameOptimizerIsTheTunedOne() {
        List<Matrix> matrices = List.of(new Matrix(SQUARE, SQUARE, 4), new Matrix(TALL, TALL, 1));
        Translation.Pair pair = Translation.pair(matrices, new Base(0.1), TENTH, new Base(0.1), TENTH);
        assertThat(pair.error()).isLessThan(1e-4);
        assertThat(pair.schedule().peak()).isCloseTo(0.03, within(1e-5));
        assertThat(pair.schedule().finalRatio()).isCloseTo(0.1, within(1e-4));
    }

    /** Rate times a factor and decay over it are the same run where the shape factor is that much smaller. */
    @Test
    void shapeFactorMovesIntoRateAndDecay() {
        double factor = 5.5;
        Expected larger = new Expected(SQUARE.norm(), factor * SQUARE.direction(), SQUARE.memory());
        Shaped smaller = new Shaped(TENTH.peak() / factor, 400, 0.05, 0.1, new Decline.Linear());
        Translation.Pair pair = Translation.pair(
                List.of(new Matrix(SQUARE, larger, 1)), new Base(0.1), TENTH, new Base(0.1 * factor), TENTH);
        assertThat(pair.schedule().peak()).isCloseTo(smaller.peak(), within(1e-6));
        assertThat(pair.error()).isLessThan(1e-4);
    }

    /** What there and back costs when one pair stands for the whole run: the way back starts from the pair. */
    @Test
    void pairsThereAndBackAreInverse() {
        List<Matrix> matrices = List.of(new Matrix(SQUARE, SQUARE, 1));
        Shaped angles = new Shaped(0.02, 400, 0.05, 0.1, new Decline.Linear());
        Translation.Pair rates = Translation.pair(matrices, new Hyperball(), angles, new Base(0.1), angles);
        Translation.Pair back = Translation.pair(matrices, new Base(0.1), rates.schedule(), new Hyperball(), angles);
        assertThat(back.schedule().peak()).isCloseTo(0.02, within(0.02 * 0.1));
        assertThat(rates.error()).isLessThan(0.15);
    }

    @Test
    void hyperballStaysWhereItIs() {
        Prediction run = Prediction.of(TALL, new Hyperball(), TENTH);
        assertThat(run.norm()).containsOnly(Expected.initial(512));
        assertThat(run.effective()).isEqualTo(run.nominal());
        assertThat(run.peak()).isEqualTo(0.03);
        assertThat(run.peakStep()).isEqualTo(19);
        assertThat(run.steps()).isEqualTo(400);
    }

    @Test
    void memoryOfRandomMatricesIsTheMeasuredOne() {
        // Newton-Schulz of random 128 x 128 and 128 x 512 matrices, summed over 59 steps: 13.2 and 16.1; momentum 18.1
        assertThat(sum(Fitted.memory(0.95, 128, 128))).isCloseTo(13.2, within(0.5));
        assertThat(sum(Fitted.memory(0.95, 128, 512))).isCloseTo(16.1, within(0.8));
        assertThat(sum(Memory.momentum(0.95))).isCloseTo(18.1, within(0.1));
    }

    /** The sum of b^j over j = 1, 2, .. is b / (1 - b). */
    @Test
    void memoryOfAKindIsAPartOfTheMomentums() {
        for (double b : new double[] {0, 0.5, 0.95, 0.99}) {
            double q = Fitted.lasting("q", b), v = Fitted.lasting("v", b);
            assertThat(q / (1 - q)).isCloseTo(0.85 * b / (1 - b), within(1e-12));
            assertThat(v / (1 - v)).isCloseTo(1.20 * b / (1 - b), within(1e-12));
            assertThat(Fitted.lasting("other", b)).isCloseTo(b, within(1e-15));
        }
    }

    @Test
    void refusals() {
        refused(() -> new Expected(0, 1, NO_MEMORY), "norm at the start is 0.0");
        refused(() -> new Expected(1, Double.NaN, NO_MEMORY), "direction's norm is NaN");
        refused(() -> Expected.muon(0, 4, 1, 0.95), "0 x 4 is empty");
        refused(() -> Memory.momentum(1), "decay 1.0");
        refused(() -> new Onset(1.5, 1, 0), "part 1.5");
        refused(() -> new Onset(1, -1, 0), "steps -1.0");
        refused(() -> new Onset(1, 1, 1), "decay 1.0");
        refused(() -> Equilibrium.of(SQUARE, 0.1, 0), "0.1 and 0.0");
        refused(() -> Equilibrium.steps(0.1, 0.1, 1), "0.1, 0.1 and 1.0");
        refused(() -> Prediction.of(SQUARE, new Base(40), TENTH), "step 16 times weight decay 40");
        refused(() -> Prediction.following(SQUARE, new Base(1), new double[0]), "there are none");
        refused(() -> Prediction.following(SQUARE, new Base(1), new double[] {-1}), "step 0 is -1.0");
        refused(() -> Translation.pair(List.of(), new Base(1), TENTH, new Base(1), TENTH), "at least one matrix");
        refused(() -> new Matrix(SQUARE, SQUARE, 0), "0 matrices");
    }

    private static void refused(org.assertj.core.api.ThrowableAssert.ThrowingCallable action, String message) {
        assertThatThrownBy(action).isInstanceOf(Refusal.class).hasMessageContaining(message);
    }

    private static double sum(Memory memory) {
        double sum = 0;
        for (int j = 1; j < 60; j++) {
            for (Memory.Term term : memory.terms()) {
                sum += term.weight() * Math.pow(term.decay(), j);
            }
        }
        return sum;
    }

    /** Ten to a uniform power. */
    private static double power(RandomGenerator random, double from, double to) {
        return Math.pow(10, random.nextDouble(from, to));
    }

    /** Of norm one, in any direction. */
    private static double[] vector(RandomGenerator random, int size) {
        double[] x = random.doubles(size).map(any -> random.nextGaussian()).toArray();
        return sum(1 / norm(x), x, 0, x);
    }

    private static double norm(double[] x) {
        return Math.sqrt(Arrays.stream(x).map(y -> y * y).sum());
    }

    private static double[] sum(double a, double[] x, double b, double[] y) {
        return IntStream.range(0, x.length)
                .mapToDouble(i -> a * x[i] + b * y[i])
                .toArray();
    }

    private static void some(int count, java.util.function.Consumer<RandomGenerator> body) {
        for (int i = 0; i < count; i++) {
            body.accept(new SplittableRandom(i));
        }
    }

    private static void close(double actual, double expected, double relative) {
        assertThat(actual).isCloseTo(expected, within(relative * Math.abs(expected)));
    }

    /** Without momentum the horizon law is exact in the limit of many steps; at a thousand it is a part of a hundred off. */
    @Test
    void normsAreTheSameFunctionOfTheWayOnAnotherHorizon() {
        Horizon law = new Horizon(9000, 1000);
        double k = law.factor();
        assertThat(k).isEqualTo(3);
        Expected matrix = new Expected(10, 8, NO_MEMORY);
        Prediction tuned =
                Prediction.of(matrix, new Base(0.1), new Shaped(0.004, 9000, 0.05, 0.1, new Decline.Linear()));
        Prediction other =
                Prediction.of(matrix, new Base(k * 0.1), new Shaped(k * 0.004, 1000, 0.05, 0.1, new Decline.Linear()));
        for (int t = 99; t < 1000; t += 100) {
            int same = 9 * t + 4;
            assertThat(other.norm()[t]).isCloseTo(tuned.norm()[same], within(5e-3 * tuned.norm()[same]));
            assertThat(other.effective()[t])
                    .isCloseTo(k * tuned.effective()[same], within(1e-2 * k * tuned.effective()[same]));
        }
        law.check(1.1, 0.1);
        assertThatThrownBy(() -> law.check(2, 0.1))
                .hasMessageContaining("of 9000 steps cannot be carried over to 1000 steps: multiplied by 3.0 each")
                .hasMessageContaining("take more steps than 1800");
    }
}
