package hypertransfer.train.optimizer;

import static hypertransfer.train.Rig.orthogonalized;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.core.Coefficients;
import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Iteration;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.provider.Engines;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Newton-Schulz against the same iteration applied to the singular values of an SVD. */
class MuonTest {
    private static final Iteration JORDAN = Direction.Muon.iteration(Coefficients.JORDAN, 0);

    private final Engine engine = Engines.open("reference", new Dims(1, 1, 48, 2, 1));
    private final Random random = new Random(5);

    @ParameterizedTest
    @CsvSource({"7,3,1", "3,7,1", "6,6,1", "1,9,1", "9,1,1", "1,1,1", "5,8,1e-30", "8,5,1e-30", "6,6,1e30", "12,48,1e-3"
    })
    void appliesThePolynomialToTheSingularValues(int rows, int cols, double scale) {
        double[] x = matrix(rows, cols, scale);
        for (Coefficients coefficients : Coefficients.values()) {
            double[] expected = bySvd(x, rows, cols, Direction.Muon.iteration(coefficients, 0));
            assertThat(orthogonalized(x, rows, cols, Direction.Muon.iteration(coefficients, 0)))
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
        double[] x = orthogonalized(matrix(6, 10, 1), 6, 10, Direction.Muon.iteration(coefficients, 0));
        double slack = coefficients == Coefficients.JORDAN ? 0.35 : 1e-2;
        assertThat(new Svd(rows(x, 6, 10, false)).sigma)
                .containsExactly(new double[] {1, 1, 1, 1, 1, 1}, within(slack));
    }

    @Test
    void bf16RoundsToEightBits() {
        double[] x = matrix(4, 6, 1);
        double[] exact = orthogonalized(x, 4, 6, JORDAN), rounded = orthogonalized(x, 4, 6, JORDAN.inBf16());
        assertThat(rounded).isNotEqualTo(exact).containsExactly(exact, within(0.1));
        for (double value : rounded) {
            assertThat(Float.floatToRawIntBits((float) value) & 0xffff).isZero();
        }
    }

    @Test
    void aBatchIsTheSameAsOneByOne() {
        int[][] shapes = {{4, 4}, {4, 9}, {9, 4}, {4, 4}, {1, 5}};
        List<double[]> inputs = new ArrayList<>();
        List<Tensor> batch = new ArrayList<>();
        for (int[] shape : shapes) {
            inputs.add(matrix(shape[0], shape[1], 1));
            batch.add(engine.tensor(Role.GRADIENT, "x", shape[0], shape[1]));
        }
        engine.commit();
        for (int k = 0; k < shapes.length; k++) {
            engine.write(batch.get(k), inputs.get(k));
        }
        engine.motion().orthogonalize(batch, JORDAN);
        for (int k = 0; k < shapes.length; k++) {
            assertThat(engine.read(batch.get(k)))
                    .isEqualTo(orthogonalized(inputs.get(k), shapes[k][0], shapes[k][1], JORDAN));
        }
    }

    @Test
    void theMomentumIsNotTouchedByOrthogonalisation() {
        Tensor g = engine.tensor(Role.GRADIENT, "g", 3, 5), m = engine.tensor(Role.STATE, "m", 3, 5);
        engine.commit();
        double[] first = matrix(3, 5, 1), second = matrix(3, 5, 1);
        Direction muon = Direction.Muon.standard();
        engine.write(g, first);
        muon.apply(engine, List.of(g), new double[] {2}, 0, List.of(List.of(m)));
        assertThat(engine.read(m))
                .containsExactly(Arrays.stream(first).map(v -> 2 * v).toArray(), within(1e-15));
        engine.write(g, second);
        muon.apply(engine, List.of(g), new double[] {1}, 1, List.of(List.of(m)));
        double[] mean = new double[15];
        Arrays.setAll(mean, i -> 0.95 * 2 * first[i] + 0.05 * second[i]);
        assertThat(engine.read(m)).containsExactly(mean, within(1e-15));
        assertThat(engine.read(g)).isNotEqualTo(engine.read(m));
    }

    @Test
    void nesterovLooksAhead() {
        Tensor g = engine.tensor(Role.GRADIENT, "g", 1, 2), m = engine.tensor(Role.STATE, "m", 1, 2);
        engine.commit();
        engine.write(m, new double[] {1, 1});
        engine.write(g, new double[] {3, -1});
        new Direction.Sgd(0.5, true).apply(engine, List.of(g), new double[] {1}, 4, List.of(List.of(m)));
        assertThat(engine.read(m)).containsExactly(2, 0);
        assertThat(engine.read(g)).containsExactly(2.5, -0.5);
    }

    private static double[] bySvd(double[] x, int rows, int cols, Iteration iteration) {
        boolean tall = rows > cols;
        double largest = Arrays.stream(x).map(Math::abs).max().orElseThrow();
        Svd svd = new Svd(rows(Arrays.stream(x).map(v -> v / largest).toArray(), rows, cols, tall));
        double norm = Math.sqrt(Arrays.stream(svd.sigma).map(s -> s * s).sum());
        double[] result = new double[x.length];
        for (int k = 0; k < svd.sigma.length; k++) {
            double s = svd.sigma[k] / norm;
            for (Iteration.Step t : iteration.steps()) {
                s = t.a() * s + t.b() * s * s * s + t.c() * s * s * s * s * s;
            }
            for (int i = 0; i < svd.u.length; i++) {
                for (int j = 0; j < svd.v[k].length; j++) {
                    result[tall ? j * cols + i : i * cols + j] += s * svd.u[k][i] * svd.v[k][j];
                }
            }
        }
        return result;
    }

    private static double[][] rows(double[] x, int rows, int cols, boolean transposed) {
        double[][] result = new double[transposed ? cols : rows][transposed ? rows : cols];
        for (int i = 0; i < rows; i++) {
            for (int j = 0; j < cols; j++) {
                result[transposed ? j : i][transposed ? i : j] = x[i * cols + j];
            }
        }
        return result;
    }

    private double[] matrix(int rows, int cols, double scale) {
        double[] x = new double[rows * cols];
        Arrays.setAll(x, i -> scale * random.nextGaussian());
        return x;
    }
}
