package hypertransfer.engine.proof;

import static hypertransfer.engine.proof.Demanded.ROUNDING;
import static hypertransfer.engine.proof.Demanded.cpu;
import static hypertransfer.engine.proof.Demanded.threads;
import static hypertransfer.engine.proof.Movement.MUON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.withinPercentage;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Motion.Iteration;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.proof.Result.Tolerance;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What the optimizer asks of the cpu engine, and what makes rounding hard for it. Newton-Schulz is OpenBLAS's work, so that its own tests
 * run at one width of vectors.
 */
class OptimizerTest {
    private static final Dims DIMS = new Dims(1, 2, 702, 2, 3);
    private static final int[][] SHAPES = {{1, 1}, {4, 6}, {13, 25}, {207, 6}, {1, 702}, {80, 80}, {702, 100}, {94, 103}
    };

    @Test
    void agreesWithTheReference() {
        assertThat(Movement.run(cpu(1, DIMS), SHAPES)).allMatch(ROUNDING::accepts);
        assertThat(Movement.bases(cpu(1, DIMS))).allMatch(ROUNDING::accepts);
    }

    @Test
    @DisabledIfSystemProperty(named = "ht.vector.bits", matches = ".*")
    void givesTheSameBitsOnAnyNumberOfThreads() {
        assertThat(Movement.run(threads(DIMS), SHAPES)).allMatch(result -> result.error() == 0);
        assertThat(Movement.bases(threads(DIMS))).allMatch(result -> result.error() == 0);
    }

    private static Pair matrix(int rows, int cols) {
        int C = Math.max(rows, cols);
        return cpu(2, new Dims(1, 1, 2 * C, 2, 1))
                .tensor(Role.HIDDEN_GRADIENT, "x", rows, cols)
                .tensor(Role.MASTER, "w", rows, cols)
                .commit();
    }

    /** As floats, 1 - 1e-5 is off by a quarter of a percent of the decay. */
    @Test
    void aSmallDecayIsNotLostInRounding() {
        try (Pair pair = matrix(100, 100)) {
            List<Double> lost = new ArrayList<>();
            pair.fill("x", 0).run("move", s -> {
                List<Tensor> w = List.of(s.t("w")), u = List.of(s.t("x"));
                double before = s.motion().readings(w, u)[0];
                s.motion().move(w, u, new double[] {1 - 1e-5}, new double[] {0});
                lost.add(1 - s.motion().readings(w, u)[0] / before);
            });
            assertThat(lost.getFirst()).isCloseTo(lost.getLast(), withinPercentage(0.05));
        }
    }

    @Test
    @DisabledIfSystemProperty(named = "ht.vector.bits", matches = ".*")
    void newtonSchulzInManySlowSteps() {
        agree(1, Iteration.repeated(12, 2, -1.5, 0.5));
    }

    /** Matrices of all shapes whose numbers are so large. */
    private static void agree(double spread, Iteration iteration) {
        for (int[] shape : SHAPES) {
            try (Pair pair = matrix(shape[0], shape[1])) {
                pair.fill("x", spread)
                        .run("orthogonalize", s -> s.motion().orthogonalize(List.of(s.t("x")), iteration))
                        .same(702 * 64, "x");
                assertThat(pair.results()).as("%s", spread).allMatch(ROUNDING::accepts);
            }
        }
    }

    /** Singular values from 1 to 1e-6, and many zeros: what gradients look like, and where rounding is amplified most. */
    @ParameterizedTest
    @ValueSource(ints = {64, 130, 256})
    @DisabledIfSystemProperty(named = "ht.vector.bits", matches = ".*")
    void newtonSchulzOfNearlySingularMatrices(int cols) {
        Random random = new Random(8);
        int rows = 64;
        double[] values = new double[rows * cols], transposed = new double[rows * cols];
        for (double sigma = 1; sigma > 1e-7; sigma /= 10) {
            double[] left = random.doubles(rows, -1, 1).toArray(),
                    right = random.doubles(cols, -1, 1).toArray();
            for (int i = 0; i < values.length; i++) {
                values[i] = (float) (values[i] + sigma * left[i / cols] * right[i % cols]);
                transposed[i % cols * rows + i / cols] = values[i];
            }
        }
        try (Pair wide = matrix(rows, cols);
                Pair tall = matrix(cols, rows)) {
            wide.set("x", values);
            tall.set("x", transposed);
            for (Pair pair : List.of(wide, tall)) {
                pair.run("orthogonalize", s -> s.motion().orthogonalize(List.of(s.t("x")), MUON))
                        .same(1, "x");
                assertThat(pair.results()).allMatch(new Tolerance(1e-4, Double.POSITIVE_INFINITY)::accepts);
            }
        }
    }

    @Test
    @DisabledIfSystemProperty(named = "ht.vector.bits", matches = ".*")
    void newtonSchulzRoundedToBf16() {
        try (Pair pair = matrix(94, 103)) {
            pair.run("orthogonalize", s -> s.motion().orthogonalize(List.of(s.t("x")), MUON.inBf16()));
            for (double value : pair.read("x")) {
                assertThat(Float.floatToRawIntBits((float) value) & 0xffff)
                        .as("%s is a bfloat16", value)
                        .isZero();
            }
        }
    }

    @Test
    @DisabledIfSystemProperty(named = "ht.vector.bits", matches = ".*")
    void aZeroMatrixStaysZeroAndAnExtremeOneIsScaled() {
        for (double spread : new double[] {0, 1e-38, 1e38}) {
            agree(spread, MUON);
        }
    }
}
