package hypertransfer.engine.cpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.withinPercentage;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Polynomial;
import hypertransfer.engine.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the optimizer asks of the engine, against the reference. */
class OptimizerTest {
    private static final Polynomial MUON = Polynomial.repeated(5, 3.4445, -4.7750, 2.0315);
    private static final Polynomial SLOW = Polynomial.repeated(12, 2, -1.5, 0.5);

    private static final int[][] SHAPES = {
        {1, 1}, {4, 6}, {13, 25}, {207, 6}, {1, 702}, {208, 208}, {702, 100}, {190, 207}
    };

    private static Pair pair(int threads, String... names) {
        Pair pair = new Pair(new Dims(1, 2, 702, 2, 3), threads);
        for (int i = 0; i < SHAPES.length; i++) {
            for (String name : names) {
                pair.tensor(name + i, SHAPES[i][0], SHAPES[i][1]);
            }
        }
        return pair.commit();
    }

    private static List<Tensor> list(Function<String, Tensor> t, String name) {
        return IntStream.range(0, SHAPES.length)
                .mapToObj(i -> t.apply(name + i))
                .toList();
    }

    private static void same(Pair p, int length, String... names) {
        for (String name : names) {
            for (int i = 0; i < SHAPES.length; i++) {
                p.same(length, name + i);
            }
        }
    }

    private static double[] factors(double from) {
        return IntStream.range(0, SHAPES.length)
                .mapToDouble(i -> from + 0.01 * i)
                .toArray();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4})
    void momentum(int threads) {
        for (boolean nesterov : new boolean[] {false, true}) {
            try (Pair p = pair(threads, "g", "m")) {
                p.run((e, t) -> e.momentum(list(t, "g"), factors(0.7), 0.95, nesterov, list(t, "m")));
                same(p, 1, "g", "m");
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4})
    void adam(int threads) {
        try (Pair p = pair(threads, "g", "m", "v")) {
            for (int i = 0; i < SHAPES.length; i++) {
                p.fill("m" + i, 0).fill("v" + i, 0);
            }
            for (int step = 1; step < 4; step++) {
                long t1 = step;
                p.run((e, t) -> e.adam(list(t, "g"), factors(0.7), 0.9, 0.95, 1e-10, t1, list(t, "m"), list(t, "v")));
                same(p, 4, "g", "m", "v");
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4})
    void readingsMovesAndRepresentatives(int threads) {
        try (Pair p = pair(threads, "w", "u", "x")) {
            List<double[]> readings = new ArrayList<>();
            p.run((e, t) -> {
                e.move(list(t, "w"), list(t, "u"), factors(0.9), factors(0.2));
                readings.add(e.readings(list(t, "w"), list(t, "u")));
                e.represent(list(t, "w"), factors(0.3), list(t, "x"));
                e.zero(list(t, "u"));
            });
            same(p, 1, "w", "u", "x");
            Pair.same("readings", 1, readings.getFirst(), readings.getLast());
        }
    }

    /** As floats, 1 - 1e-5 is off by a quarter of a percent of the decay. */
    @Test
    void aSmallDecayIsNotLostInRounding() {
        try (Pair p = new Pair(new Dims(1, 1, 2, 2, 1), 1)
                .tensor("w", 100, 100)
                .tensor("u", 100, 100)
                .commit()) {
            List<Double> lost = new ArrayList<>();
            p.run((e, t) -> {
                e.zero(List.of(t.apply("u")));
                List<Tensor> w = List.of(t.apply("w")), u = List.of(t.apply("u"));
                double before = e.readings(w, u)[0];
                e.move(w, u, new double[] {1 - 1e-5}, new double[] {0});
                lost.add(1 - e.readings(w, u)[0] / before);
            });
            assertThat(lost.getFirst()).isCloseTo(lost.getLast(), withinPercentage(0.05));
        }
    }

    static Stream<Polynomial> polynomials() {
        return Stream.of(MUON, SLOW);
    }

    @ParameterizedTest
    @MethodSource("polynomials")
    void newtonSchulz(Polynomial polynomial) {
        for (int threads : new int[] {1, 2, 4}) {
            try (Pair p = pair(threads, "x")) {
                p.run((e, t) -> e.orthogonalize(list(t, "x"), polynomial));
                // Five steps amplify the rounding of the least singular values, 3.4 times each.
                same(p, 702 * 64, "x");
            }
        }
    }

    /** Singular values from 1 to 1e-6, and many zeros: what gradients look like, and where rounding is amplified most. */
    @ParameterizedTest
    @ValueSource(ints = {64, 130, 256})
    void newtonSchulzOfNearlySingularMatrices(int cols) {
        Random random = new Random(8);
        int rows = 64;
        double[] values = new double[rows * cols];
        for (double sigma = 1; sigma > 1e-7; sigma /= 10) {
            double[] left = random.doubles(rows, -1, 1).toArray(),
                    right = random.doubles(cols, -1, 1).toArray();
            for (int i = 0; i < values.length; i++) {
                values[i] = (float) (values[i] + sigma * left[i / cols] * right[i % cols]);
            }
        }
        try (Pair p = new Pair(new Dims(1, 1, 64, 2, 1), 1)
                .tensor("wide", rows, cols)
                .tensor("tall", cols, rows)
                .commit()) {
            double[] transposed = new double[values.length];
            for (int i = 0; i < values.length; i++) {
                transposed[i % cols * rows + i / cols] = values[i];
            }
            p.set("wide", values).set("tall", transposed);
            p.run((e, t) -> e.orthogonalize(List.of(t.apply("wide"), t.apply("tall")), MUON));
            p.near(1e-4, "wide");
            p.near(1e-4, "tall");
        }
    }

    /** A rounding that falls the other way is half a percent of a number, so bfloat16 is compared loosely. */
    @Test
    void newtonSchulzRoundedToBf16() {
        try (Pair p = pair(2, "x")) {
            p.run((e, t) -> e.orthogonalize(list(t, "x"), MUON.inBf16()));
            for (int i = 0; i < SHAPES.length; i++) {
                double[] met = p.cpu.read(p.ours("x" + i));
                for (double value : met) {
                    assertThat(Float.floatToRawIntBits((float) value) & 0xffff)
                            .as("%s is a bfloat16", value)
                            .isZero();
                }
                p.near(0.02, "x" + i);
            }
        }
    }

    @Test
    void aZeroMatrixStaysZeroAndAnExtremeOneIsScaled() {
        for (double spread : new double[] {0, 1e-38, 1e38}) {
            try (Pair p = pair(2, "x")) {
                for (int i = 0; i < SHAPES.length; i++) {
                    p.fill("x" + i, spread);
                }
                p.run((e, t) -> e.orthogonalize(list(t, "x"), MUON));
                same(p, 702 * 64, "x");
            }
        }
    }
}
