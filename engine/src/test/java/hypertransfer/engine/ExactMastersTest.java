package hypertransfer.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.engine.checked.Checked;
import hypertransfer.engine.cpu.CpuEngine;
import hypertransfer.engine.reference.ReferenceEngine;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Masters in double precision, beside directions and weights in the engine's own format. */
class ExactMastersTest {
    private static final Dims DIMS = new Dims(1, 2, 4, 2, 5);
    private static final double KEEP = 1 - 1e-9, PUSH = 3e-10, SCALE = 1.37;

    /** The cpu engine and the reference with the same numbers in w (exact), u and x. */
    private record Side(Engine engine, Tensor w, Tensor u, Tensor x) implements AutoCloseable {
        static Side open(Engine provider, int rows, int cols) {
            Engine engine = new Checked(provider);
            Side side = new Side(
                    engine,
                    engine.tensor(Role.EXACT_MASTER, "w", rows, cols),
                    engine.tensor(Role.HIDDEN_GRADIENT, "u", rows, cols),
                    engine.tensor(Role.WEIGHT, "x", rows, cols));
            engine.commit();
            Random random = new Random(7);
            engine.write(side.w, random.doubles((long) rows * cols, -1, 1).toArray());
            engine.write(
                    side.u,
                    random.doubles((long) rows * cols, -1, 1)
                            .map(v -> (float) v)
                            .toArray());
            return side;
        }

        double[] moved() {
            engine.motion().move(List.of(w), List.of(u), new double[] {KEEP}, new double[] {PUSH});
            return engine.read(w);
        }

        double[] represented(int grid) {
            engine.motion().represent(List.of(w), new double[] {SCALE}, grid, List.of(x));
            return engine.read(x);
        }

        @Override
        public void close() {
            engine.close();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 4, 6, 13, 25, 207, 702, 4098, 33000})
    void theCpuMovesThemAsTheReferenceDoes(int cols) {
        try (Side cpu = Side.open(new CpuEngine(DIMS, 2), 3, cols);
                Side reference = Side.open(new ReferenceEngine(DIMS), 3, cols)) {
            assertThat(cpu.moved()).isEqualTo(reference.moved()); // the same operations in double: the same bits
            double[] expected = reference.engine.motion().readings(List.of(reference.w), List.of(reference.u));
            assertThat(cpu.engine.motion().readings(List.of(cpu.w), List.of(cpu.u)))
                    .containsExactly(expected, within(1e-13 * cols));
            assertThat(cpu.engine.motion().readings(List.of(cpu.w), List.of(cpu.w)))
                    .containsExactly(
                            reference.engine.motion().readings(List.of(reference.w), List.of(reference.w)),
                            within(1e-13 * cols));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {8, 16, 23, 24, Engine.FULL_GRID})
    void weightsAreRoundedOnceFromThem(int grid) {
        try (Side cpu = Side.open(new CpuEngine(DIMS, 2), 3, 207)) {
            double[] w = cpu.engine.read(cpu.w), x = cpu.represented(grid);
            for (int i = 0; i < w.length; i++) {
                double exact = SCALE * w[i], step = Math.ulp(exact) * 0x1p53 / (1L << Math.min(grid, 24));
                assertThat(x[i]).isEqualTo(Math.rint(exact / step) * step);
            }
        }
    }

    /** A change far below a float's last bit is kept, and reaches the weights only where it crosses a grid's line. */
    @Test
    void whatIsTooSmallForAFloatIsNotLost() {
        try (Side cpu = Side.open(new CpuEngine(DIMS, 1), 1, 500)) {
            double[] before = cpu.engine.read(cpu.w), weights = cpu.represented(16), after = cpu.moved();
            assertThat(after).isNotEqualTo(before);
            assertThat(cpu.represented(16)).isEqualTo(weights);
        }
    }

    @Test
    void theyAreRefusedWhereTheEnginesOwnFormatIsExpected() {
        try (Side cpu = Side.open(new CpuEngine(DIMS, 1), 2, 4)) {
            String sentence = " 'w' is an exact master, expected a tensor in the engine's own format";
            assertThatThrownBy(() -> cpu.engine.zero(List.of(cpu.w))).hasMessage("zero: tensors[0]" + sentence);
            assertThatThrownBy(() -> cpu.engine.layers().product(cpu.x, cpu.w, cpu.u))
                    .hasMessage("product: w" + sentence);
            assertThatThrownBy(() -> cpu.engine.sum(cpu.engine.slice(cpu.w, "w", 1, 1)))
                    .hasMessage("sum: tensor" + sentence);
        }
    }
}
