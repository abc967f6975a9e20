package hypertransfer.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.Parameter;
import hypertransfer.core.Clip;
import hypertransfer.core.Mode;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Gradients are clipped as the target sees them, or a transfer does not follow its target. */
@Torch
class ClipTest {
    private static final int STEPS = 8;

    /** Its steps are as long as its gradients. */
    private static final Direction PLAIN = new Made("plain", List.of(), (gradient, memory, step) -> gradient);

    private record Result(double[] losses, double[] kept, double[] norm) {}

    private static Result train(Mode mode, Clip clip, View view, DataType type) {
        Rule hidden = new Rule(PLAIN, mode.transfer(0.3), (id, step) -> 0.1).each(view);
        Rule rest = Rule.adamW((id, step) -> 0.01, 0.1);
        Result result = new Result(new double[STEPS], new double[STEPS], new double[STEPS]);
        try (TinyTraining training = new TinyTraining(
                TinyWeights.seeded(7),
                true,
                type,
                block -> new HyperOptimizer(new Routes(block, hidden, rest), clip))) {
            for (int t = 0; t < STEPS; t++) {
                result.losses[t] = training.step(t);
                result.kept[t] = training.optimizer.clipped().kept();
                result.norm[t] = training.optimizer.clipped().norm();
            }
        }
        return result;
    }

    @ParameterizedTest
    @CsvSource({"0.3, 0, 1", "0, 0.01, 1", "0.3, 0, 4"})
    void aTransferClipsWhereItsTargetDoes(double norm, double value, int parts) {
        Clip clip = new Clip(norm, value);
        View view = parts == 1 ? View.PLAIN : View.rows(parts);
        // parts of a matrix are no longer scale-invariant, so they need the gradient at the representative
        Mode mode = parts == 1 ? Mode.HYPERTRANSFER : Mode.HYPERTRANSFER_PLUS;
        Result base = train(Mode.BASE, clip, view, DataType.FLOAT64);
        Result ball = train(mode, clip, view, DataType.FLOAT64);
        assertThat(Arrays.stream(base.kept).min().orElseThrow()).as("clipped").isLessThan(0.9);
        assertThat(ball.losses).containsExactly(base.losses, within(1e-7)); // a float is left of the factor
        assertThat(ball.kept).containsExactly(base.kept, within(1e-7));
        assertThat(ball.norm).containsExactly(base.norm, within(1e-7));
        Result free = train(Mode.BASE, Clip.NONE, view, DataType.FLOAT64);
        assertThat(free.losses[STEPS - 1]).isNotCloseTo(base.losses[STEPS - 1], within(1e-3));
        assertThat(free.kept).containsOnly(Double.NaN);
    }

    /** DJL's own trainer updates one parameter after the other, and our optimizer zeroes the gradients it has used. */
    @Test
    void theNormIsOfAllGradientsOfAStep() {
        Result limited = train(Mode.BASE, new Clip(1e9, 0), View.PLAIN, DataType.FLOAT32);
        assertThat(limited.kept).containsOnly(1);
        Result exact = train(Mode.BASE, new Clip(1e9, 0), View.PLAIN, DataType.FLOAT64);
        assertThat(limited.norm).containsExactly(exact.norm, within(1e-4));
        Rule rule = Rule.adamW((id, step) -> 0.01, 0.1);
        try (TinyTraining training = new TinyTraining(
                TinyWeights.seeded(7),
                true,
                DataType.FLOAT64,
                block -> new HyperOptimizer(new Routes(block, rule, rule), new Clip(1, 0)))) {
            training.backward(0);
            double squares = 0;
            for (Parameter parameter : training.block.getParameters().values()) {
                try (NDArray gradient = parameter.getArray().getGradient()) {
                    squares += Arrays.stream(gradient.toDoubleArray())
                            .map(g -> g * g)
                            .sum();
                }
            }
            training.step(0); // which adds the same gradients once more
            assertThat(training.optimizer.clipped().norm()).isCloseTo(2 * Math.sqrt(squares), within(1e-9));
        }
    }
}
