package hypertransfer.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.Parameter;
import java.util.Arrays;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Torch
class DecayTest {
    /**
     * What a step takes from weights spread over [1, 2), where nothing pushes. The nearest float of 1 - 1e-5 is 0.14% off the
     * decay, that of 1 - 1e-7 19%; what is allowed here is the rounding of the weights themselves.
     */
    @ParameterizedTest
    @CsvSource({"1e-5, 5e-4", "1e-7, 0.08"})
    void smallDecaysSurviveFloats(double decay, double allowed) {
        Rule muon = Rule.muon((id, step) -> decay, 1), rest = Rule.adamW((id, step) -> decay, 1);
        try (TinyTraining training = new TinyTraining(TinyWeights.seeded(1), true, DataType.FLOAT32, muon, rest)) {
            Parameter fc = training.block.parameter("fc");
            try (NDManager manager = NDManager.newBaseManager()) {
                NDArray spread = manager.arange(0, fc.getShape().size(), 1, DataType.FLOAT32)
                        .div(fc.getShape().size())
                        .add(1);
                spread.reshape(fc.getShape()).copyTo(fc.getArray());
                double before = Arrays.stream(training.weight("fc")).sum();
                training.optimizer.update(fc.getId(), fc.getArray(), manager.zeros(fc.getShape()));
                double taken = before - Arrays.stream(training.weight("fc")).sum();
                assertThat(taken / (decay * before)).isCloseTo(1, within(allowed));
            }
        }
    }
}
