package hypertransfer.train.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.core.Mode;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Tensor;
import hypertransfer.train.Rig;
import hypertransfer.train.network.Variant;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A direction that is not ours: it follows its target, and is saved and restored like ours. */
class OwnDirectionTest {

    /** The sign of a mean of gradients, with the largest entry ever seen beside it: two tensors, no operation of the engine. */
    record Sign(double beta) implements Direction {
        @Override
        public String label() {
            return "Sign " + beta;
        }

        @Override
        public List<String> memory() {
            return List.of("sign.mean", "sign.largest");
        }

        @Override
        public void apply(Engine engine, List<Tensor> gradients, double[] scale, long t, List<List<Tensor>> state) {
            for (int k = 0; k < gradients.size(); k++) {
                double[] g = engine.read(gradients.get(k));
                double[] mean = engine.read(state.get(0).get(k)),
                        largest = engine.read(state.get(1).get(k));
                for (int i = 0; i < g.length; i++) {
                    mean[i] = beta * mean[i] + (1 - beta) * scale[k] * g[i];
                    largest[i] = Math.max(largest[i], Math.abs(mean[i]));
                    g[i] = Math.abs(mean[i]) > 0.01 * largest[i] ? Math.signum(mean[i]) : 0;
                }
                engine.write(gradients.get(k), g);
                engine.write(state.get(0).get(k), mean);
                engine.write(state.get(1).get(k), largest);
            }
        }
    }

    @Test
    void itTrainsAndATransferFollowsItsTarget() {
        double[] base = losses(new Sign(0.9), Mode.BASE), ball = losses(new Sign(0.9), Mode.HYPERTRANSFER);
        assertThat(base[19]).isLessThan(base[0] - 0.5);
        assertThat(ball).containsExactly(base, within(1e-9));
        assertThat(losses(new Sign(0.9), Mode.HYPERBALL)[19]).isNotCloseTo(base[19], within(1e-3));
    }

    @Test
    void itsMemoryIsSavedAndRestored() {
        Routing routing = Routing.standard(new Sign(0.9), Mode.HYPERTRANSFER.transfer(0.1));
        try (Rig whole = new Rig(Variant.M1, routing);
                Rig half = new Rig(Variant.M1, routing);
                Rig rest = new Rig(Variant.M1, routing)) {
            double[] expected = whole.losses(8, 0.005);
            half.losses(4, 0.005);
            assertThat(half.optimizer.tensors().keySet())
                    .anyMatch(name -> name.contains("sign.mean"))
                    .anyMatch(name -> name.contains("sign.largest"));
            rest.continueFrom(half);
            assertThat(rest.losses(4, 0.005)).isEqualTo(Arrays.copyOfRange(expected, 4, 8));
        }
    }

    private static double[] losses(Direction direction, Mode mode) {
        Routing routing = Routing.standard(direction, mode.transfer(0.1));
        try (Rig rig = new Rig(Variant.M1, routing)) {
            assertThat(routing.table(rig.parameters.all())).contains("Sign 0.9");
            return rig.losses(20, 0.005);
        }
    }
}
