package hypertransfer.train.optimizer;

import hypertransfer.core.Limits;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Tensor;
import java.util.List;
import java.util.Map;

/** The sign of the momentum, an exponential mean that starts at the first gradient. */
public record Signum(double momentum, boolean nesterov) implements Direction {
    static final Directions.Facts FACTS = new Directions.Facts(
            List.of("momentum", "nesterov"), Map.of("momentum", 0.9), s -> new Signum(s.momentum(), s.nesterov()));

    public Signum {
        Limits.fraction("Signum's momentum", momentum);
    }

    @Override
    public String label() {
        return "Signum " + momentum + (nesterov ? " Nesterov" : "");
    }

    @Override
    public void apply(Engine engine, List<Tensor> g, double[] scale, long t, List<List<Tensor>> state) {
        double beta = t == 0 ? 0 : momentum;
        // beta m + (1 - beta) g of the new m is beta^2 m + (1 - beta^2) g of the old one
        engine.motion().sign(g, scale, nesterov ? beta * beta : beta, beta, state.getFirst());
    }
}
