package hypertransfer.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.Shape;
import hypertransfer.core.Limits;
import java.util.List;

/**
 * Muon with a second moment per neuron after the orthogonalisation (Li et al., arXiv 2510.05491): with O Muon's direction,
 * {@code v <- beta2 v + (1 - beta2) rowmean(O^2)} from zero, {@code P = O / (sqrt(v) + epsilon)} row by row, and
 * {@code P |O| / (|P| + epsilon)}.
 *
 * @param muon what makes O
 * @param beta2 of the second moment, from 0 to less than 1
 * @param epsilon finite and above zero
 */
public record NorMuon(Muon muon, double beta2, double epsilon) implements Direction {
    /** Refuses what is out of range. */
    public NorMuon {
        Limits.fraction("beta2", beta2);
        Limits.aboveZero("NorMuon's epsilon", epsilon);
    }

    @Override
    public String signature() {
        return "nor" + muon.signature() + "(" + beta2 + ", " + epsilon + ")";
    }

    @Override
    public List<Shape> memory(Shape parameter) {
        return List.of(parameter, new Shape(parameter.get(0), 1));
    }

    @Override
    public void check(String name, Shape parameter) {
        muon.check(name, parameter);
    }

    @Override
    public NDArray of(NDArray gradient, List<NDArray> memory, long step) {
        try (NDArray o = muon.of(gradient, memory, step);
                NDArray square = o.square();
                NDArray rows = square.mean(new int[] {1}, true)) {
            double norm = Measure.norm(o);
            Means.mix(memory.get(1), beta2, rows);
            return equalized(o, memory.get(1), epsilon, norm);
        }
    }

    /** {@code P = o / (sqrt(v) + epsilon)}, of the given norm. */
    static NDArray equalized(NDArray o, NDArray v, double epsilon, double norm) {
        try (NDArray root = v.sqrt().addi(epsilon)) {
            NDArray p = o.div(root);
            return p.muli(norm / (Measure.norm(p) + epsilon));
        }
    }
}
