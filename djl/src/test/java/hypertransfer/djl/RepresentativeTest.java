package hypertransfer.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.types.DataType;
import hypertransfer.core.Mode;
import hypertransfer.core.Refusal;
import hypertransfer.core.State;
import java.util.Arrays;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Where the + forms leave the model's parameters. */
class RepresentativeTest {
    @BeforeAll
    static void torch() {
        Torch.required();
    }

    @Test
    void theModelStandsAtTheRepresentativeAndGoesToTheCarrierAndBack() {
        try (TinyTraining training = plus()) {
            for (int t = 0; t < 5; t++) {
                training.step(t);
            }
            State state = training.optimizer.last().get("fc").next();
            assertThat(Math.abs(state.targetNorm() / state.R() - 1)).isGreaterThan(0.01);
            assertThat(norm(training)).isCloseTo(state.targetNorm(), within(1e-5));

            training.optimizer.toCarrier();
            assertThat(norm(training)).isCloseTo(state.R(), within(1e-5));
            training.backward(5);
            assertThatThrownBy(() -> training.step(5))
                    .isInstanceOf(Refusal.class)
                    .hasMessageContaining("the gradient was taken at 1.0 times the carrier")
                    .hasMessageContaining("call toRepresentative()");
        }
        try (TinyTraining there = plus();
                TinyTraining thereAndBack = plus()) {
            for (int t = 0; t < 5; t++) {
                there.step(t);
                thereAndBack.step(t);
                thereAndBack.optimizer.toCarrier();
                thereAndBack.optimizer.toRepresentative();
            }
            assertThat(thereAndBack.step(5)).isCloseTo(there.step(5), within(1e-6));
        }
    }

    private static double norm(TinyTraining training) {
        return Math.sqrt(Arrays.stream(training.weight("fc")).map(w -> w * w).sum());
    }

    private static TinyTraining plus() {
        Rate rate = (id, step) -> 0.05;
        Rule hidden = Rule.muon(rate, 0).in(Mode.HYPERTRANSFER_PLUS, 0.5);
        return new TinyTraining(
                TinyWeights.seeded(3),
                false,
                DataType.FLOAT32,
                block -> new HyperOptimizer(block, hidden, Rule.adamW(rate, 0.1)));
    }
}
