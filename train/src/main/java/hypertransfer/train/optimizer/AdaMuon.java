package hypertransfer.train.optimizer;

import hypertransfer.core.Limits;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Motion.Iteration;
import hypertransfer.engine.Tensor;
import java.util.List;
import java.util.Map;

/**
 * Muon with a second moment per number after the orthogonalisation (Si et al., arXiv 2507.11005): O orthogonalises the
 * sign of the momentum, {@code v <- beta2 v + (1 - beta2) O^2} from zero, {@code P = O / (sqrt(v) + epsilon)}, and
 * {@code u = 0.2 sqrt(rows cols) P / |P|}, whose root mean square is 0.2.
 */
public record AdaMuon(double momentum, boolean nesterov, Iteration iteration, double beta2, double epsilon)
        implements Direction {
    static final Directions.Facts FACTS = new Directions.Facts(
            List.of("momentum", "nesterov", "coefficients", "bf16", "beta2", "epsilon"),
            Map.of(),
            s -> new AdaMuon(s.momentum(), s.nesterov(), s.iteration(), s.beta2(), s.epsilon()));

    public AdaMuon {
        Limits.fraction("AdaMuon's momentum", momentum);
        Limits.fraction("AdaMuon's beta2", beta2);
        Limits.aboveZero("AdaMuon's epsilon", epsilon);
    }

    @Override
    public String label() {
        return "AdaMuon " + momentum + (nesterov ? " Nesterov" : "") + ", " + iteration.label() + ", numbers " + beta2;
    }

    @Override
    public List<Memory> memory(int rows, int cols) {
        return List.of(new Memory("momentum", rows, cols), new Memory("adamuon.v", rows, cols));
    }

    @Override
    public void apply(Engine engine, List<Tensor> g, double[] scale, long t, List<List<Tensor>> state) {
        new Signum(momentum, nesterov).apply(engine, g, scale, t, state);
        engine.motion().orthogonalize(g, iteration);
        double[] norm = g.stream().mapToDouble(x -> 0.2 * Math.sqrt(x.size())).toArray();
        engine.motion().equalize(g, beta2, epsilon, norm, state.get(1));
    }
}
