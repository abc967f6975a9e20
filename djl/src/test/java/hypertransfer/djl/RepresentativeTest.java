package hypertransfer.djl;

import static hypertransfer.djl.TinyTraining.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.types.DataType;
import hypertransfer.core.Mode;
import hypertransfer.core.State;
import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** Where the + forms leave the model's parameters. */
@Torch
class RepresentativeTest {
    @Test
    void theModelStandsAtTheRepresentativeAndGoesToTheCarrierAndBack() {
        Rate rate = (id, step) -> 0.05;
        Rule hidden = Rule.muon(rate, 0).in(Mode.HYPERTRANSFER_PLUS, 0.5), rest = Rule.adamW(rate, 0.1);
        try (TinyTraining training = new TinyTraining(TinyWeights.seeded(3), false, DataType.FLOAT32, hidden, rest)) {
            training.run(0, 5);
            State state = training.optimizer.last().get("fc").next();
            assertThat(Math.abs(state.targetNorm() / state.R() - 1)).isGreaterThan(0.01);
            assertThat(norm(training)).isCloseTo(state.targetNorm(), within(1e-5));

            training.optimizer.toCarrier();
            assertThat(norm(training)).isCloseTo(state.R(), within(1e-5));
            training.backward(5);
            refused(
                    () -> training.optimizer.save(new ByteArrayOutputStream()),
                    " stands at the carrier",
                    "call toRepresentative() before you save");
            refused(
                    () -> training.step(5),
                    "the gradient was taken at 1.0 times the carrier",
                    "call toRepresentative()");
            training.optimizer.toRepresentative();
            assertThat(norm(training)).isCloseTo(state.targetNorm(), within(1e-5));
        }
    }

    private static double norm(TinyTraining training) {
        return Math.sqrt(Arrays.stream(training.weight("fc")).map(w -> w * w).sum());
    }
}
