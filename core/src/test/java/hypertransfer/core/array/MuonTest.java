package hypertransfer.core.array;

import static hypertransfer.core.Refused.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.core.Coefficients;
import hypertransfer.core.Mode;
import hypertransfer.core.Reading;
import hypertransfer.core.ShapeFactor;
import hypertransfer.core.State;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.ForkJoinPool;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class MuonTest {
    private static double[] drawn(int seed, int count) {
        return new Random(seed).doubles(count, -1, 1).toArray();
    }

    /** Newton-Schulz as it is written down: (rows, rows) products of three loops, whatever the shape. */
    private static double[] obvious(double[] m, int rows, int cols, Coefficients coefficients) {
        double norm = 0;
        for (double value : m) {
            norm += value * value;
        }
        double[] x = m.clone();
        for (int i = 0; i < x.length; i++) {
            x[i] /= Math.sqrt(norm);
        }
        for (Coefficients.Step step : coefficients.steps(0)) {
            double[] a = times(x, turned(x, rows, cols), rows, cols, rows), aa = times(a, a, rows, rows, rows);
            double[] ax = times(a, x, rows, rows, cols), aax = times(aa, x, rows, rows, cols);
            for (int i = 0; i < x.length; i++) {
                x[i] = step.a() * x[i] + step.b() * ax[i] + step.c() * aax[i];
            }
        }
        return x;
    }

    private static double[] turned(double[] x, int rows, int cols) {
        double[] turned = new double[x.length];
        for (int i = 0; i < x.length; i++) {
            turned[i % cols * rows + i / cols] = x[i];
        }
        return turned;
    }

    private static double[] times(double[] p, double[] q, int m, int k, int n) {
        double[] out = new double[m * n];
        for (int i = 0; i < m; i++) {
            for (int j = 0; j < n; j++) {
                for (int s = 0; s < k; s++) {
                    out[i * n + j] += p[i * k + s] * q[s * n + j];
                }
            }
        }
        return out;
    }

    /** Sides that no tile and no pair divides among them; 530 columns are more than a tile. */
    @ParameterizedTest
    @CsvSource({"1,1", "1,7", "7,1", "2,2", "3,5", "5,3", "16,16", "33,64", "64,33", "5,530", "90,5"})
    void newtonSchulzIsTheObviousOne(int rows, int cols) {
        double[] m = drawn(rows + 31 * cols, rows * cols);
        for (Coefficients coefficients : Coefficients.values()) {
            Muon muon = new Muon(0.95, false, coefficients, ShapeFactor.NONE);
            double[] expected = obvious(m, rows, cols, coefficients);
            assertThat(muon.orthogonalized(m, rows, cols)).containsExactly(expected, within(1e-12));
        }
    }

    @Test
    void bitsDoNotDependOnTheNumberOfProcessors() throws Exception {
        double[] m = drawn(1, 70 * 130), here = new Muon().orthogonalized(m, 70, 130);
        try (ForkJoinPool alone = new ForkJoinPool(1)) {
            assertThat(alone.submit(() -> new Muon().orthogonalized(m, 70, 130)).get())
                    .containsExactly(here);
        }
    }

    @Test
    void theFactorOfTheShape() {
        double[] m = drawn(2, 12 * 3), plain = new Muon().orthogonalized(m, 12, 3);
        double[] rms = new Muon(0.95, false, Coefficients.JORDAN, ShapeFactor.RMS).orthogonalized(m, 12, 3);
        for (int i = 0; i < m.length; i++) {
            assertThat(rms[i]).isCloseTo(0.2 * Math.sqrt(12) * plain[i], within(1e-14));
        }
        assertThat(new Muon().orthogonalized(new double[6], 2, 3)).containsOnly(0);
    }

    @Test
    void theMeanStartsAtTheFirstGradient() {
        double[] mean = new double[6], first = drawn(3, 6), second = drawn(4, 6);
        Weights.Direction plain = new Muon().on(2, 3, mean);
        assertThat(plain.of(first, 0)).containsExactly(new Muon().orthogonalized(first, 2, 3));
        assertThat(mean).containsExactly(first);
        Muon ahead = new Muon(0.9, true, Coefficients.JORDAN, ShapeFactor.NONE);
        double[] looked = ahead.on(2, 3, mean).of(second, 1), expected = new double[6];
        for (int i = 0; i < 6; i++) {
            assertThat(mean[i]).isCloseTo(0.9 * first[i] + 0.1 * second[i], within(1e-15));
            expected[i] = 0.9 * mean[i] + 0.1 * second[i];
        }
        assertThat(looked).containsExactly(ahead.orthogonalized(expected, 2, 3), within(1e-14));
    }

    /** On a loss that sees the matrix's own length too: only the + forms are exact, and only with their order kept. */
    @Test
    void everyModeFollowsItsTarget() {
        double[] muon = losses(Mode.BASE, 0.05), ball = losses(Mode.HYPERBALL, 0.05);
        assertThat(losses(Mode.HYPERTRANSFER_PLUS, 0.05)).containsExactly(muon, within(1e-12));
        assertThat(losses(Mode.INVERSE_HYPERTRANSFER_PLUS, 0.05)).containsExactly(ball, within(1e-12));
        assertThat(Math.abs(losses(Mode.HYPERTRANSFER, 0.05)[39] - muon[39])).isGreaterThan(1e-6);
        assertThat(muon[39]).isLessThan(muon[0] / 2);
    }

    private static double[] losses(Mode mode, double rate) {
        double[] aim = drawn(6, 12), losses = new double[40];
        Weights weights = new Weights("w", drawn(5, 12), mode.transfer(0.3), new Muon().on(3, 4));
        for (int t = 0; t < losses.length; t++) {
            double[] at = weights.evaluated(), gradient = new double[12];
            for (int i = 0; i < 12; i++) {
                gradient[i] = at[i] - aim[i];
                losses[t] += gradient[i] * gradient[i] / 2;
            }
            weights.step(gradient, rate);
        }
        return losses;
    }

    @Test
    void aMatrixContinuesFromWhatWasSaved() {
        double[] mean = new double[6], again = new double[6];
        Weights whole = new Weights("w", drawn(7, 6), Mode.HYPERBALL.transfer(0), new Muon().on(2, 3, mean));
        whole.evaluated();
        whole.step(drawn(8, 6), 0.1);
        System.arraycopy(mean, 0, again, 0, 6);
        Weights resumed = new Weights(
                whole.state(), whole.values().clone(), Mode.HYPERBALL.transfer(0), new Muon().on(2, 3, again));
        for (Weights weights : new Weights[] {whole, resumed}) {
            weights.evaluated();
            weights.step(drawn(9, 6), 0.1);
        }
        assertThat(resumed.values()).containsExactly(whole.values());
        assertThat(resumed.state()).isEqualTo(whole.state());
    }

    /** The momentum had taken in the gradient of a step that was then refused. */
    @Test
    void aRefusedRateLeavesTheMomentumAsItWas() {
        double[] mean = drawn(10, 6), before = mean.clone();
        Weights weights = new Weights("w", drawn(7, 6), Mode.BASE.transfer(0.5), new Muon().on(2, 3, mean));
        weights.evaluated();
        refused(
                () -> weights.step(drawn(8, 6), 2),
                "w at step 0: learning rate 2.0 times weight decay 0.5 is 1 or more");
        refused(() -> weights.step(drawn(8, 6), Double.NaN), "w at step 0: learning rate is NaN");
        refused(() -> weights.step(new double[] {1, 2, Double.NaN, 4, 5, 6}, 0.1), "a number that is not finite");
        assertThat(mean).containsExactly(before);
    }

    @Test
    void refusals() {
        refused(() -> new Muon(1, false, Coefficients.JORDAN, ShapeFactor.NONE), "momentum");
        refused(() -> new Muon().orthogonalized(new double[5], 2, 3), "5 numbers is not a matrix of 2 x 3");
        refused(() -> new Muon().on(2, 3).of(new double[4], 0), "4 numbers is not a matrix of 2 x 3");
        refused(() -> Reading.of(new double[3], new double[2]), "the matrix has 3 numbers, and its direction 2");
        Weights weights = new Weights("w", drawn(7, 6), Mode.HYPERTRANSFER_PLUS.transfer(0.1), new Muon().on(2, 3));
        refused(() -> weights.step(new double[6], 0.1), "w at step 0: evaluated() was not called before step()");
        weights.evaluated();
        weights.step(drawn(8, 6), 0.1);
        refused(() -> weights.step(new double[6], 0.1), "w at step 1: evaluated() was not called before step()");
        weights.evaluated();
        refused(() -> weights.step(new double[4], 0.1), "w at step 1: the gradient has 4 numbers, and the matrix 6");
        refused(() -> new Muon().on(-2, 3), "not a matrix of -2 x 3"); // was a NegativeArraySizeException
        refused(() -> new Muon().on(100_000, 100_000), "not a matrix of 100000 x 100000"); // was an integer overflow
    }

    /** The matrix was multiplied by the quotient of the norms, without a word. */
    @Test
    void aStateOfAnotherMatrixIsRefused() {
        State other = State.start("w", 99);
        refused(
                () -> new Weights(other, drawn(7, 6), Mode.HYPERBALL.transfer(0), new Muon().on(2, 3)),
                "w at step 0: the state belongs to a matrix of norm 99.0, but the values have norm ",
                "restore both from the same checkpoint");
    }

    /** Their squares are infinite or zero: the direction was zero, and the matrix did not move. */
    @ParameterizedTest
    @ValueSource(doubles = {1e-300, 1e-160, 1e160, 1e300})
    void gradientsOfAnySizeHaveADirection(double size) {
        double[] m = drawn(3, 6),
                scaled = Arrays.stream(m).map(value -> size * value).toArray();
        assertThat(new Muon().orthogonalized(scaled, 2, 3))
                .containsExactly(new Muon().orthogonalized(m, 2, 3), within(1e-12));
        assertThat(new Muon().orthogonalized(new double[6], 2, 3)).containsOnly(0);
        scaled[1] = Double.POSITIVE_INFINITY;
        assertThat(new Muon().orthogonalized(scaled, 2, 3)).contains(Double.NaN);
    }
}
