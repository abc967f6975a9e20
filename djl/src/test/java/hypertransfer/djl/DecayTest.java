package hypertransfer.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.types.DataType;
import java.util.Arrays;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Torch
class DecayTest {
    private static final int SIZE = 4 * TinyWeights.C * TinyWeights.C; // a power of two: its parts are floats

    /**
     * What a step takes from weights spread over [1, 2), where nothing pushes. The nearest float of 1 - 1e-5 is 0.14% off the
     * decay, that of 1 - 1e-7 19%; what is allowed here is the rounding of the weights themselves.
     */
    @ParameterizedTest
    @CsvSource({"1e-5, 5e-4", "1e-7, 0.08"})
    void smallDecaysSurviveFloats(double decay, double allowed) {
        Rule muon = Rule.muon((id, step) -> decay, 1), rest = Rule.adamW((id, step) -> decay, 1);
        try (TinyTraining training = new TinyTraining(TinyWeights.seeded(1), true, DataType.FLOAT32, muon, rest)) {
            double[] spread = IntStream.range(0, SIZE)
                    .mapToDouble(i -> 1 + i / (double) SIZE)
                    .toArray();
            training.set("fc", spread);
            training.update("fc", new double[SIZE]);
            double before = Arrays.stream(spread).sum(),
                    after = Arrays.stream(training.weight("fc")).sum();
            assertThat((before - after) / (decay * before)).isCloseTo(1, within(allowed));
        }
    }
}
