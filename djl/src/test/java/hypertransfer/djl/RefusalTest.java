package hypertransfer.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.ndarray.types.DataType;
import ai.djl.nn.Parameter;
import ai.djl.training.tracker.Tracker;
import hypertransfer.core.Diverged;
import hypertransfer.core.Mode;
import hypertransfer.core.Refusal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.assertj.core.api.AbstractThrowableAssert;
import org.junit.jupiter.api.Test;

/** The edges of a step: what is refused, and with which words; what is not. */
@Torch
class RefusalTest {
    private static final Rate RATE = (id, step) -> 0.1;
    private static final int SIZE = 4 * TinyWeights.C * TinyWeights.C;

    @Test
    void aZeroMatrixOnAHyperball() {
        refused(Rule.muonH(RATE), 0f, 1f, "fc at step 0: its norm is 0.0");
        refused(Rule.muon(RATE, 0).in(Mode.HYPERTRANSFER, 0.1), 0f, 1f, "fc at step 0: its norm is 0.0");
    }

    @Test
    void aNotANumberOrAnInfinity() {
        refused(Rule.muon(RATE, 0), 1f, Float.NaN, "fc at step 0: its gradient is not finite")
                .isInstanceOf(Diverged.class);
        refused(Rule.adamW(RATE, 0), 1f, Float.POSITIVE_INFINITY, "fc at step 0: its gradient is not finite");
    }

    /** The momentum held the NaN, and every later step was refused. */
    @Test
    void aStepThatWasRefusedCanBeLeftOut() {
        for (Rule rule : List.of(
                Rule.muonH(RATE), Rule.adamW(RATE, 0.1), Rule.muon(RATE, 0.1).in(Mode.HYPERTRANSFER_PLUS, 0.1))) {
            try (TinyTraining met = training(rule, 1f);
                    TinyTraining spared = training(rule, 1f)) {
                update(met, 1f);
                assertThatThrownBy(() -> update(met, Float.NaN)).isInstanceOf(Diverged.class);
                update(met, 2f);
                update(spared, 1f);
                update(spared, 2f);
                assertThat(met.weight("fc")).as(rule.toString()).isEqualTo(spared.weight("fc"));
            }
        }
    }

    /** The momentum had taken in the gradient of a step whose rate was then refused. */
    @Test
    void aRefusedRateLeavesTheMomentumAsItWas() {
        double[] rate = {0.1};
        Rule rule = Rule.muon((id, step) -> rate[0], 0.5).in(Mode.HYPERTRANSFER_PLUS, 0.5);
        try (TinyTraining met = training(rule, 1f);
                TinyTraining spared = training(rule, 1f)) {
            update(met, 1f);
            rate[0] = 2;
            assertThatThrownBy(() -> update(met, -3f)).hasMessageContaining("learning rate 2.0 times weight decay 0.5");
            rate[0] = 0.1;
            update(met, 2f);
            update(spared, 1f);
            update(spared, 2f);
            assertThat(met.weight("fc")).isEqualTo(spared.weight("fc"));
        }
    }

    /** It started anew, with a momentum of zero, and said nothing. */
    @Test
    void aClosedOptimizer() {
        try (TinyTraining training = training(Rule.muonH(RATE), 1f)) {
            update(training, 1f);
            training.optimizer.close();
            assertThatThrownBy(() -> update(training, 1f))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageStartingWith("the optimizer was closed");
            training.optimizer.close(); // a second time does nothing
        }
    }

    /** It was thrown away silently. */
    @Test
    void aWeightDecayIsNotDropped() {
        assertThat(Rule.muon(RATE, 0.1).in(Mode.HYPERTRANSFER).transfer()).isEqualTo(Mode.HYPERTRANSFER.transfer(0.1));
        assertThatThrownBy(() -> Rule.muon(RATE, 0.1).in(Mode.HYPERTRANSFER, 0.3))
                .isInstanceOf(Refusal.class)
                .hasMessageContaining("has weight decay 0.1, and in(HYPERTRANSFER, 0.3) would drop it");
        assertThatThrownBy(() -> HyperOptimizer.muonH().build()).hasMessageContaining(".setBlock(model.getBlock())");
        assertThatThrownBy(() -> HyperOptimizer.muonH()
                        .setBlock(new TinyBlock(TinyWeights.seeded(7), true))
                        .optWeightDecays(0.1f)
                        .build())
                .hasMessageContaining("a Hyperball has no weight decay, and 0.1 is given");
    }

    /** The builder makes what the rules make; steps are told in the network's order. */
    @Test
    void theBuilder() {
        Tracker tracker = Tracker.fixed(0.05f);
        Rule hidden = new Rule(Direction.muon().withNesterov(), Mode.HYPERTRANSFER.transfer(0.1), Rate.of(tracker));
        try (TinyTraining built = new TinyTraining(
                        TinyWeights.seeded(7),
                        true,
                        DataType.FLOAT32,
                        block -> HyperOptimizer.muon()
                                .setBlock(block)
                                .optLearningRateTracker(tracker)
                                .optWeightDecays(0.1f)
                                .optDirection(Direction.muon().withNesterov())
                                .optMode(Mode.HYPERTRANSFER)
                                .build());
                TinyTraining ruled = new TinyTraining(
                        TinyWeights.seeded(7), true, DataType.FLOAT32, hidden, Rule.adamW(Rate.of(tracker), 0))) {
            assertThat(built.run(0, 3)).containsExactly(ruled.run(0, 3));
            assertThat(built.optimizer.last().keySet())
                    .containsExactlyElementsOf(built.optimizer.routes().all().stream()
                            .map(Route::name)
                            .toList());
        }
    }

    /** Zero is allowed, as in the trainer: where every entry has a gradient it is plain Adam, elsewhere 0/0 is named. */
    @Test
    void anEpsilonOfZero() {
        Rule rule = new Rule(new Direction.Adam(0.9, 0.95, 0), Mode.BASE.transfer(0), RATE);
        refused(rule, 1f, 1f, "fc at step 0: |w| is 16.0, |u| is NaN");
        for (double bad : new double[] {-1e-10, Double.NaN, Double.POSITIVE_INFINITY}) {
            assertThatThrownBy(() -> new Direction.Adam(0.9, 0.95, bad))
                    .isInstanceOf(Refusal.class)
                    .hasMessage("Adam's epsilon is " + bad + "; it must be a finite number, zero or more");
        }
    }

    @Test
    void aRateThatErases() {
        refused(Rule.muon((id, step) -> 2, 0.5), 1f, 1f, "fc at step 0: learning rate 2.0 times weight decay 0.5");
    }

    @Test
    void aZeroGradientMovesNothingButTheDecay() {
        try (TinyTraining training = training(Rule.muon(RATE, 0.5), 1f)) {
            update(training, 0f);
            assertThat(training.weight("fc")).containsOnly((double) (float) 0.95);
        }
        try (TinyTraining training = training(Rule.muonH(RATE), 1f)) {
            update(training, 0f);
            assertThat(training.weight("fc")).containsOnly(1.0);
        }
    }

    @Test
    void muonOnAVector() {
        try (TinyTraining training = new TinyTraining(TinyWeights.seeded(1), true, DataType.FLOAT32, block -> {
            Routes routes = new Routes(block, Rule.muonH(RATE), Rule.adamW(RATE, 0));
            return new HyperOptimizer(routes.choose("mlp.gain", Rule.muonH(RATE)));
        })) {
            assertThatThrownBy(() -> training.step(0))
                    .isInstanceOf(Refusal.class)
                    .hasMessage("mlp.gain has shape (8), and Muon orthogonalises matrices; choose an Adam direction for"
                            + " it");
        }
    }

    @Test
    void aParameterOfAnotherModel() {
        try (TinyTraining one = training(Rule.muonH(RATE), 1f);
                TinyTraining other = training(Rule.muonH(RATE), 1f)) {
            Parameter stranger = other.block.parameter("fc");
            TinyTraining.refused(
                    () -> one.optimizer.update(stranger.getId(), stranger.getArray(), stranger.getArray()),
                    "is not one of the block's 7 trained parameters");
        }
    }

    @Test
    void aTrackerIsAskedAsDjlAsksIt() {
        List<Integer> asked = new ArrayList<>();
        Tracker tracker = number -> {
            asked.add(number);
            return 0.25f;
        };
        try (TinyTraining training = training(Rule.muonH(Rate.of(tracker)), 1f)) {
            update(training, 1f);
            update(training, 1f);
            assertThat(asked).containsExactly(1, 2);
            assertThat(training.optimizer.last().get("fc").effective()).isEqualTo(0.25);
        }
    }

    private static AbstractThrowableAssert<?, ?> refused(Rule rule, float weight, float gradient, String message) {
        try (TinyTraining training = training(rule, weight)) {
            var refusal = assertThatThrownBy(() -> update(training, gradient))
                    .isInstanceOf(Refusal.class)
                    .hasMessageStartingWith(message);
            assertThat(training.weight("fc")).containsOnly(weight);
            return refusal;
        }
    }

    /** A network whose fc is all {@code weight}. */
    private static TinyTraining training(Rule hidden, float weight) {
        TinyWeights start = TinyWeights.seeded(1);
        TinyTraining training = new TinyTraining(start, true, DataType.FLOAT32, hidden, Rule.adamW(RATE, 0));
        double[] fc = new double[SIZE];
        Arrays.fill(fc, weight);
        training.set("fc", fc);
        return training;
    }

    /** An update of only fc, with a gradient that is {@code value} on the diagonal and zero elsewhere. */
    private static void update(TinyTraining training, float value) {
        double[] gradient = new double[SIZE];
        for (int i = 0; i < TinyWeights.C; i++) {
            gradient[i * TinyWeights.C + i] = value;
        }
        training.update("fc", gradient);
    }
}
