package hypertransfer.djl;

import static hypertransfer.djl.TinyTraining.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import hypertransfer.core.Mode;
import hypertransfer.core.Refusal;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Parts of parameters as matrices of their own. */
@Torch
class ViewTest {
    private static final Rate RATE = (id, step) -> 0.02;

    /** Heads, a fused qkv, experts, a convolution: what each part holds, and that all go back where they were. */
    @ParameterizedTest
    @CsvSource({
        "rows, 4 6, 2, '12 13 14 15 16 17 18 19 20 21 22 23'",
        "columns, 4 6, 2, '3 4 5 9 10 11 15 16 17 21 22 23'",
        "blocks, 4 6, 4, '3 4 5 9 10 11'",
        "stack, 2 2 3, 2, '6 7 8 9 10 11'",
        "flat, 2 1 2 3, 1, ''"
    })
    void partsAreTakenAndPutBack(String form, String sizes, int parts, String second) {
        View view = switch (form) {
            case "rows" -> View.rows(2);
            case "columns" -> View.columns(2);
            case "blocks" -> View.blocks(2, 2);
            case "stack" -> View.stack();
            default -> View.flat();
        };
        try (NDManager manager = NDManager.newBaseManager("PyTorch")) {
            Shape shape = new Shape(
                    Stream.of(sizes.split(" ")).mapToLong(Long::parseLong).toArray());
            NDArray whole = manager.arange(0, shape.size(), 1, DataType.FLOAT64).reshape(shape);
            double[] before = whole.toDoubleArray();
            assertThat(view.parts("w", shape)).isEqualTo(parts);
            for (int k = 0; k < parts; k++) {
                NDArray part = view.take(whole, k);
                assertThat(part.getShape()).isEqualTo(view.shape(shape));
                if (k == 1) {
                    assertThat(part.toDoubleArray())
                            .containsExactly(Stream.of(second.split(" "))
                                    .mapToDouble(Double::parseDouble)
                                    .toArray());
                }
                view.put(whole, k, part.add(100));
            }
            assertThat(whole.toDoubleArray())
                    .isEqualTo(DoubleStream.of(before).map(x -> x + 100).toArray());
        }
    }

    private static TinyTraining training(Mode mode, View view) {
        Rule hidden = Rule.muon(RATE, 0.1).in(mode, 0.1).each(view);
        return new TinyTraining(TinyWeights.seeded(7), false, DataType.FLOAT64, hidden, Rule.adamW(RATE, 0.1));
    }

    @Test
    void aTransferFollowsItsTargetPartByPart() {
        View view = View.blocks(4, 2);
        try (TinyTraining base = training(Mode.BASE, view);
                TinyTraining ball = training(Mode.HYPERTRANSFER_PLUS, view);
                TinyTraining whole = training(Mode.BASE, View.PLAIN)) {
            double[] expected = base.run(0, 10);
            assertThat(ball.run(0, 10)).containsExactly(expected, within(1e-9));
            assertThat(whole.run(0, 10)[9]).isNotCloseTo(expected[9], within(1e-5));
            assertThat(ball.optimizer.last())
                    .containsKeys("fc#0", "fc#7", "proj#3")
                    .doesNotContainKey("fc");
            double first = ball.optimizer.last().get("fc#0").next().norm();
            assertThat(ball.optimizer.last().get("fc#0").next().R()).isCloseTo(first, within(1e-12));
        }
    }

    /** The + forms leave each part at its own representative. */
    @Test
    void partsArePutAtTheirCarrierAndBack() {
        try (TinyTraining training = training(Mode.HYPERTRANSFER_PLUS, View.columns(2))) {
            training.run(0, 4);
            double[] before = training.weight("fc");
            training.optimizer.toCarrier();
            assertThat(training.weight("fc")).isNotEqualTo(before);
            training.optimizer.toRepresentative();
            assertThat(training.weight("fc")).containsExactly(before, within(1e-12));
        }
    }

    @Test
    void whatDoesNotDivideIsNamedWithTheNumbers() {
        assertThatThrownBy(() -> View.rows(3).parts("qkv", new Shape(32, 8)))
                .isInstanceOf(Refusal.class)
                .hasMessage(
                        "qkv has shape (32, 8), which the view blocks(3, 1) does not divide; choose a view whose parts"
                                + " have one shape");
        refused(() -> View.stack().parts("w", new Shape(4, 4)), "the view stack does not divide");
        refused(() -> View.columns(0), "a view of 1 x 0 parts");
        refused(() -> new View(View.Form.FLAT, 1, 2), "a view of 1 x 2 parts", "flat");
    }
}
