package hypertransfer.train.optimizer;

import hypertransfer.core.Limits;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Tensor;
import java.util.List;
import java.util.Map;

/**
 * Muon with a second moment per neuron after the orthogonalisation (Li et al., arXiv 2510.05491): with O Muon's direction,
 * {@code v <- beta2 v + (1 - beta2) rowmean(O^2)} from zero, {@code P = O / (sqrt(v) + epsilon)} row by row, and
 * {@code u = P |O| / (|P| + epsilon)}.
 */
public record NorMuon(Muon muon, double beta2, double epsilon) implements Direction {
    static final Directions.Facts FACTS = new Directions.Facts(
            List.of("momentum", "nesterov", "coefficients", "bf16", "shape_factor", "beta2", "epsilon"),
            Map.of(),
            s -> new NorMuon(Muon.of(s), s.beta2(), s.epsilon()));

    public NorMuon {
        Limits.fraction("NorMuon's beta2", beta2);
        Limits.aboveZero("NorMuon's epsilon", epsilon);
    }

    @Override
    public String label() {
        return "Nor" + muon.label() + ", rows " + beta2;
    }

    @Override
    public List<Memory> memory(int rows, int cols) {
        return List.of(new Memory("momentum", rows, cols), new Memory("normuon.v", rows, 1));
    }

    @Override
    public void apply(Engine engine, List<Tensor> g, double[] scale, long t, List<List<Tensor>> state) {
        muon.apply(engine, g, scale, t, state);
        engine.motion().equalize(g, beta2, epsilon, null, state.get(1));
    }

    @Override
    public double factor(int rows, int cols) {
        return muon.factor(rows, cols);
    }
}
