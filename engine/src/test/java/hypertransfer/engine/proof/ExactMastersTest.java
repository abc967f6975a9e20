package hypertransfer.engine.proof;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Format;
import hypertransfer.engine.Role;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Masters in double precision, beside directions and weights in the engine's own format. */
class ExactMastersTest {
    private static final double SCALE = 1.37;
    private static final List<String> W = List.of("w"), U = List.of("u"), X = List.of("x");

    private static Pair masters(int rows, int cols) {
        return masters(Role.EXACT_MASTER, rows, cols);
    }

    /** A master w, a direction u and weights x. */
    private static Pair masters(Role role, int rows, int cols) {
        return Demanded.cpu(2, new Dims(1, 2, 4, 2, 5))
                .tensor(role, "w", rows, cols)
                .tensor(Role.HIDDEN_GRADIENT, "u", rows, cols)
                .tensor(Role.WEIGHT, "x", rows, cols)
                .commit();
    }

    private static Pair moved(Pair pair) {
        double[] keep = {1 - 1e-9}, push = {3e-10};
        return pair.run("move", s -> s.motion().move(s.all(W), s.all(U), keep, push));
    }

    private static double[] represented(Pair pair, int grid) {
        double[] scale = {SCALE};
        return pair.run("represent", s -> s.motion().represent(s.all(W), scale, grid, s.all(X)))
                .read("x");
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 4, 6, 13, 25, 207, 702, 4098, 33000})
    void theCpuMovesThemAsTheReferenceDoes(int cols) {
        try (Pair pair = masters(3, cols)) {
            moved(pair).same(1, "w");
            assertThat(pair.results()).allMatch(w -> w.error() == 0); // the same operations in double: the same bits
            for (List<String> other : List.of(U, W)) {
                List<double[]> readings = new ArrayList<>();
                pair.run("readings", s -> readings.add(s.motion().readings(s.all(W), s.all(other))));
                assertThat(readings.getFirst()).containsExactly(readings.getLast(), within(1e-13 * cols));
            }
        }
    }

    /** From floats twice, as {@link hypertransfer.engine.Motion#represent} says of the cpu: scale and product, then the grid. */
    @ParameterizedTest
    @ValueSource(ints = {8, 16, 23, 24, Format.FULL_GRID})
    void weightsAreRoundedOnceFromThem(int grid) {
        int coarser = Math.min(grid, 24);
        try (Pair exact = masters(Role.EXACT_MASTER, 3, 207);
                Pair floats = masters(Role.MASTER, 3, 207)) {
            double[] w = exact.read("w"), x = represented(exact, grid);
            double[] f = floats.read("w"), y = represented(floats, grid);
            for (int i = 0; i < w.length; i++) {
                double product = SCALE * w[i], step = Math.ulp(product) * 0x1p53 / (1L << coarser);
                assertThat(x[i]).isEqualTo(Math.rint(product / step) * step);
                assertThat(y[i]).isEqualTo(Format.round((float) SCALE * (float) f[i], coarser));
            }
        }
    }

    /** A change far below a float's last bit is kept, and reaches the weights only where it crosses a grid's line. */
    @Test
    void whatIsTooSmallForAFloatIsNotLost() {
        try (Pair pair = masters(1, 500)) {
            double[] before = pair.read("w"), weights = represented(pair, 16);
            assertThat(moved(pair).read("w")).isNotEqualTo(before);
            assertThat(represented(pair, 16)).isEqualTo(weights);
        }
    }

    @Test
    void theyAreRefusedWhereTheEnginesOwnFormatIsExpected() {
        try (Pair pair = masters(2, 4).slice("w", "part", 1, 1)) {
            String exact = " is an exact master, expected a tensor in the engine's own format";
            assertThatThrownBy(() -> pair.run("zero", s -> s.engine().zero(s.all(W))))
                    .hasMessage("zero: tensors[0] 'w'" + exact);
            assertThatThrownBy(() -> pair.run("product", s -> s.layers().product(s.t("x"), s.t("w"), s.t("u"))))
                    .hasMessage("product: w 'w'" + exact);
            assertThatThrownBy(() -> pair.run("sum", s -> s.engine().sum(s.t("part"))))
                    .hasMessage("sum: tensor 'part'" + exact);
        }
    }
}
