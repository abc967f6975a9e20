package hypertransfer.djl;

import static hypertransfer.djl.TinyTraining.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.Model;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Block;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.convolutional.Conv1d;
import ai.djl.nn.core.Linear;
import ai.djl.nn.norm.LayerNorm;
import hypertransfer.core.Mode;
import hypertransfer.core.Refusal;
import org.junit.jupiter.api.Test;

/** Which parameter goes where. */
@Torch
class RoutesTest {
    private static final Rate RATE = (id, step) -> 0.1;
    private static final Rule HIDDEN = Rule.muon(RATE, 0).in(Mode.INVERSE_HYPERTRANSFER, 0.1);
    private static final Rule REST = Rule.adamW(RATE, 0.1);

    @Test
    void theLastMatrixIsTheHeadWhereNoneIsCalledSo() {
        SequentialBlock block = new SequentialBlock()
                .add(Linear.builder().setUnits(6).build())
                .add(LayerNorm.builder().build())
                .add(Activation::relu)
                .add(Linear.builder().setUnits(5).optBias(false).build())
                .add(Linear.builder().setUnits(3).build());
        try (Model _ = initialised(block, new Shape(2, 4))) {
            assertThat(new Routes(block, HIDDEN, REST).toString().lines())
                    .containsExactly(
                            "01Linear_weight    (6, 4)  hidden matrix  muon(0.95), Hyperball on Base(0.1), rescaled",
                            "01Linear_bias      (6)     bias           adam(0.9, 0.95, 1.0E-10), Base(0.1)",
                            "02LayerNorm_gamma  (6)     gain           adam(0.9, 0.95, 1.0E-10), Base(0.1)",
                            "02LayerNorm_beta   (6)     gain           adam(0.9, 0.95, 1.0E-10), Base(0.1)",
                            "04Linear_weight    (5, 6)  hidden matrix  muon(0.95), Hyperball on Base(0.1), rescaled",
                            "05Linear_weight    (3, 5)  head           adam(0.9, 0.95, 1.0E-10), Base(0.1)",
                            "05Linear_bias      (3)     bias           adam(0.9, 0.95, 1.0E-10), Base(0.1)");
        }
    }

    @Test
    void namesTellEmbeddingsAndHeads() {
        TinyBlock block = new TinyBlock(TinyWeights.seeded(1), true);
        try (Model _ = initialised(block, new Shape(2))) {
            assertThat(new Routes(block, HIDDEN, REST).all())
                    .extracting(Route::why)
                    .containsExactly("embedding", "gain", "hidden matrix", "hidden matrix", "gain", "gain", "head");
        }
    }

    @Test
    void whatIsNoMatrixOrFrozenIsNotHidden() {
        SequentialBlock block = new SequentialBlock()
                .add(Conv1d.builder().setKernelShape(new Shape(2)).setFilters(3).build())
                .add(Linear.builder().setUnits(5).build());
        try (Model _ = initialised(block, new Shape(2, 4, 6))) {
            block.getChildren().values().get(1).freezeParameters(true);
            assertThat(new Routes(block, HIDDEN, REST).all())
                    .extracting(Route::why)
                    .containsExactly("not a matrix", "bias");
        }
    }

    @Test
    void aChoiceByNameComesFirst() {
        TinyBlock block = new TinyBlock(TinyWeights.seeded(1), true);
        try (Model _ = initialised(block, new Shape(2))) {
            Routes routes = new Routes(block, HIDDEN, REST).choose("proj|embed.weight", Rule.adamH(RATE));
            assertThat(routes.all().stream().filter(route -> route.why().equals("chosen by name")))
                    .extracting(Route::name)
                    .containsExactly("embed.weight", "proj");
            Routes wrong = new Routes(block, HIDDEN, REST).choose("pro", Rule.adamH(RATE));
            assertThatThrownBy(wrong::all)
                    .isInstanceOf(Refusal.class)
                    .hasMessageStartingWith("no parameter has the name 'pro'; the names are embed.weight, embed.gain");
        }
    }

    @Test
    void aBlockWithoutValuesIsRefused() {
        refused(
                () -> new Routes(new TinyBlock(TinyWeights.seeded(1), true), HIDDEN, REST).all(),
                "initialise the trainer first");
    }

    @Test
    void whatIsNoExpressionIsRefused() {
        refused(
                () -> new Routes(new TinyBlock(TinyWeights.seeded(1), true), HIDDEN, REST).choose("fc(", REST),
                "'fc(' is not a regular expression: Unclosed group; use Pattern.quote");
    }

    private static Model initialised(Block block, Shape input) {
        Model model = Model.newInstance("routes");
        model.setBlock(block);
        block.initialize(model.getNDManager(), DataType.FLOAT32, input);
        return model;
    }
}
