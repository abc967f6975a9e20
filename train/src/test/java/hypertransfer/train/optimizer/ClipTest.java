package hypertransfer.train.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.core.Clip;
import hypertransfer.core.Mode;
import hypertransfer.core.Transfer;
import hypertransfer.train.Rig;
import hypertransfer.train.network.Parameter;
import hypertransfer.train.network.Variant;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Gradients are clipped in the target's space, or a transfer does not follow its target. */
class ClipTest {
    private static final int STEPS = 15;
    private static final double NORM = 0.3, VALUE = 0.01;

    private record Result(double[] losses, double[] kept) {}

    private static Routing clipped(Direction direction, Transfer transfer, Clip clip) {
        Routing r = Routing.standard(direction, transfer);
        return new Routing(r.rule(), r.rest(), r.restDecay(), r.share(), r.representation(), clip);
    }

    private static Result train(Direction direction, Mode mode, Clip clip) {
        Result result = new Result(new double[STEPS], new double[STEPS]);
        try (Rig rig = new Rig(Variant.M1, clipped(direction, mode.transfer(0.3), clip))) {
            for (int t = 0; t < STEPS; t++) {
                rig.gradient();
                result.losses[t] = rig.network.meanLoss();
                rig.optimizer.step(0.1, 0.01);
                result.kept[t] = rig.optimizer.clipped().kept();
            }
        }
        return result;
    }

    @ParameterizedTest
    @CsvSource({NORM + ", 0", "0, " + VALUE})
    void aTransferClipsWhereItsTargetDoes(double norm, double value) {
        Clip clip = new Clip(norm, value);
        Direction sgd = new Direction.Sgd(0.5, false); // whose steps are as long as its gradients
        Result base = train(sgd, Mode.BASE, clip), ball = train(sgd, Mode.HYPERTRANSFER, clip);
        assertThat(Arrays.stream(base.kept).min().orElseThrow()).as("clipped").isLessThan(0.9);
        assertThat(ball.losses).containsExactly(base.losses, within(1e-7)); // a float is left of the factor
        assertThat(ball.kept).containsExactly(base.kept, within(1e-7));
        assertThat(train(sgd, Mode.BASE, Clip.NONE).losses[STEPS - 1])
                .isNotCloseTo(base.losses[STEPS - 1], within(1e-3));
    }

    /** All gradients count, and all are scaled: those of AdamW's parameters too. */
    @Test
    void theNormIsOfAllGradientsTogether() {
        try (Rig rig =
                new Rig(Variant.M2, clipped(new Direction.Sgd(0, false), Mode.BASE.transfer(0.1), new Clip(NORM, 0)))) {
            rig.gradient();
            Map<String, double[]> before = new LinkedHashMap<>();
            double squares = 0;
            for (Parameter p : rig.parameters.all()) {
                before.put(p.name(), rig.engine.read(p.gradient()));
                squares += Arrays.stream(before.get(p.name())).map(x -> x * x).sum();
            }
            rig.optimizer.step(0.1, 0.01);
            double kept = rig.optimizer.clipped().kept();
            assertThat(rig.optimizer.clipped().norm()) // rounded to a float
                    .isCloseTo(Math.sqrt(squares), within(0x1p-23));
            assertThat(kept).isLessThan(1).isCloseTo(NORM / Math.sqrt(squares), within(1e-7));
            for (Parameter p : rig.parameters.hidden()) {
                assertThat(rig.engine.read(p.gradient()))
                        .containsExactly(scaled(before.get(p.name()), kept), within(1e-12));
            }
            double[] mean = rig.engine.read(rig.optimizer.tensors().get("adam.m:embed.weight"));
            assertThat(mean).containsExactly(scaled(before.get("embed.weight"), 0.1 * kept), within(1e-12));
        }
    }

    private static double[] scaled(double[] gradient, double factor) {
        return Arrays.stream(gradient).map(x -> factor * x).toArray();
    }
}
