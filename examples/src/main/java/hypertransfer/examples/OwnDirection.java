package hypertransfer.examples;

import hypertransfer.core.Mode;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.provider.Engines;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Network;
import hypertransfer.train.network.Variant;
import hypertransfer.train.optimizer.Direction;
import hypertransfer.train.optimizer.Routing;
import hypertransfer.train.run.Session;
import java.util.List;
import java.util.Random;

/**
 * A direction of one's own: the momentum of each matrix divided by its norm. It is trained as an ordinary optimizer with weight
 * decay, and again at fixed norm by HyperTransfer, on a small transformer.
 */
public final class OwnDirection {
    /**
     * Momentum of norm 1.
     *
     * @param beta the momentum, from 0 to less than 1
     */
    public record Unit(double beta) implements Direction {
        @Override
        public String label() {
            return "Unit " + beta;
        }

        @Override
        public List<Memory> memory(int rows, int cols) {
            return List.of(new Memory("unit.momentum", rows, cols)); // the name in checkpoints
        }

        @Override
        public void apply(Engine engine, List<Tensor> gradients, double[] scale, long t, List<List<Tensor>> state) {
            engine.motion().momentum(gradients, scale, t == 0 ? 0 : beta, false, state.getFirst());
            double[] readings =
                    engine.motion().readings(gradients, gradients); // three numbers each; the first is the norm
            for (int k = 0; k < gradients.size(); k++) {
                double[] u = engine.read(gradients.get(k));
                for (int i = 0; i < u.length; i++) {
                    u[i] = readings[3 * k] == 0 ? 0 : u[i] / readings[3 * k];
                }
                engine.write(gradients.get(k), u);
            }
        }
    }

    public static void main(String[] args) {
        double[] base = train(Mode.BASE, 30), ball = train(Mode.HYPERTRANSFER, 30);
        System.out.printf(
                "loss %.6f, then %.6f with a free norm and %.6f at fixed norm%n", base[0], base[29], ball[29]);
    }

    static double[] train(Mode mode, int steps) {
        // M1 is the network that is indifferent to the scale of its hidden matrices
        Architecture architecture = new Architecture(Variant.M1, 32, 2, 16, 8, 12);
        Routing routing = Routing.standard(new Unit(0.9), mode.transfer(0.1));
        Engine engine = Engines.open("reference", architecture.dims(4)); // which is closed with the session
        try (Session session = Session.of(engine, architecture, routing)) {
            session.initialize(1234);
            Network network = session.network();
            Random random = new Random(1);
            int[] inputs = random.ints(48, 0, 32).toArray(),
                    targets = random.ints(48, 0, 32).toArray();
            double[] losses = new double[steps];
            for (int t = 0; t < steps; t++) {
                engine.zero(session.parameters().gradients());
                network.gradient(inputs, targets);
                losses[t] = network.meanLoss();
                session.optimizer().step(0.2, 0.02); // the rate of hidden matrices, and AdamW's of everything else
            }
            return losses;
        }
    }

    private OwnDirection() {}
}
