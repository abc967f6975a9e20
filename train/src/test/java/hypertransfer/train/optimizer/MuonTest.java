package hypertransfer.train.optimizer;

import static hypertransfer.train.Rig.orthogonalized;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.core.Coefficients;
import hypertransfer.engine.Motion.Iteration;
import java.util.Arrays;
import java.util.Random;
import java.util.function.DoubleUnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Newton-Schulz against the same iteration applied to singular values, of matrices made of known ones. */
class MuonTest {
    private static final Iteration JORDAN = Direction.Muon.iteration(Coefficients.JORDAN, 0);

    private final Random random = new Random(5);

    @ParameterizedTest
    @CsvSource({"7,3,1", "3,7,1", "6,6,1", "1,9,1", "9,1,1", "1,1,1", "5,8,1e-30", "8,5,1e-30", "6,6,1e30", "12,48,1e-3"
    })
    void appliesThePolynomialToTheSingularValues(int rows, int cols, double scale) {
        Known known = known(rows, cols);
        double[] x = known.matrix(sigma -> scale * sigma);
        double norm = Math.sqrt(Arrays.stream(known.sigma).map(s -> s * s).sum());
        for (Coefficients coefficients : Coefficients.values()) {
            Iteration iteration = Direction.Muon.iteration(coefficients, 0);
            double[] expected = known.matrix(sigma -> {
                double s = sigma / norm;
                for (Iteration.Step t : iteration.steps()) {
                    s = t.a() * s + t.b() * s * s * s + t.c() * s * s * s * s * s;
                }
                return s;
            });
            assertThat(orthogonalized(x, rows, cols, iteration))
                    .as("%s of a (%d,%d) matrix scaled by %s", coefficients, rows, cols, scale)
                    .containsExactly(expected, within(1e-12));
        }
    }

    @Test
    void aZeroMatrixStaysZero() {
        assertThat(orthogonalized(new double[12], 3, 4, JORDAN)).containsOnly(0);
    }

    @ParameterizedTest
    @EnumSource(Coefficients.class)
    void singularValuesComeCloseToOne(Coefficients coefficients) {
        Known known = known(6, 10);
        double[] x = orthogonalized(known.matrix(s -> s), 6, 10, Direction.Muon.iteration(coefficients, 0));
        double slack = coefficients == Coefficients.JORDAN ? 0.35 : 1e-2;
        for (int k = 0; k < 6; k++) {
            double sigma = 0;
            for (int i = 0; i < x.length; i++) {
                sigma += x[i] * known.u[k][i / 10] * known.v[k][i % 10];
            }
            assertThat(sigma).isCloseTo(1, within(slack));
        }
    }

    @Test
    void bf16RoundsToEightBits() {
        double[] x = matrix(4, 6);
        double[] exact = orthogonalized(x, 4, 6, JORDAN), rounded = orthogonalized(x, 4, 6, JORDAN.inBf16());
        assertThat(rounded).isNotEqualTo(exact).containsExactly(exact, within(0.1));
        for (double value : rounded) {
            assertThat(Float.floatToRawIntBits((float) value) & 0xffff).isZero();
        }
    }

    /** The sum of sigma u v^T over orthonormal u and v. */
    private record Known(double[][] u, double[] sigma, double[][] v) {
        double[] matrix(DoubleUnaryOperator value) {
            int cols = v[0].length;
            double[] x = new double[u[0].length * cols];
            for (int k = 0; k < sigma.length; k++) {
                for (int i = 0; i < x.length; i++) {
                    x[i] += value.applyAsDouble(sigma[k]) * u[k][i / cols] * v[k][i % cols];
                }
            }
            return x;
        }
    }

    private Known known(int rows, int cols) {
        int rank = Math.min(rows, cols);
        return new Known(orthonormal(rank, rows), random.doubles(rank, 0.2, 1).toArray(), orthonormal(rank, cols));
    }

    /** Gram-Schmidt, twice, since once leaves what rounding made of nearly parallel vectors. */
    private double[][] orthonormal(int count, int length) {
        double[][] q = new double[count][];
        for (int k = 0; k < 2 * count; k++) {
            double[] x = k < count ? matrix(1, length) : q[k - count];
            for (int j = 0; j < k % count; j++) {
                double[] other = q[j];
                double along = IntStream.range(0, length)
                        .mapToDouble(i -> x[i] * other[i])
                        .sum();
                Arrays.setAll(x, i -> x[i] - along * other[i]);
            }
            double norm = Math.sqrt(Arrays.stream(x).map(v -> v * v).sum());
            Arrays.setAll(x, i -> x[i] / norm);
            q[k % count] = x;
        }
        return q;
    }

    private double[] matrix(int rows, int cols) {
        double[] x = new double[rows * cols];
        Arrays.setAll(x, i -> random.nextGaussian());
        return x;
    }
}
