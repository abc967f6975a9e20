package hypertransfer.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.Shape;
import hypertransfer.core.Limits;
import java.util.List;

/**
 * Muon with a second moment per number after the orthogonalisation (Si et al., arXiv 2507.11005): O orthogonalises the
 * sign of the momentum, {@code v <- beta2 v + (1 - beta2) O^2} from zero, {@code P = O / (sqrt(v) + epsilon)}, and
 * {@code 0.2 sqrt(rows cols) P / (|P| + epsilon)}, whose root mean square is 0.2.
 *
 * @param muon its momentum and its steps of Newton-Schulz; a shape factor changes nothing
 * @param beta2 of the second moment, from 0 to less than 1
 * @param epsilon finite and above zero
 */
public record AdaMuon(Muon muon, double beta2, double epsilon) implements Direction {
    /** Refuses what is out of range. */
    public AdaMuon {
        Limits.fraction("beta2", beta2);
        Limits.aboveZero("AdaMuon's epsilon", epsilon);
    }

    @Override
    public String signature() {
        return "ada" + muon.signature() + "(" + beta2 + ", " + epsilon + ")";
    }

    @Override
    public List<Shape> memory(Shape parameter) {
        return List.of(parameter, parameter);
    }

    @Override
    public void check(String name, Shape parameter) {
        muon.check(name, parameter);
    }

    @Override
    public NDArray of(NDArray gradient, List<NDArray> memory, long step) {
        double norm = 0.2 * Math.sqrt(gradient.size());
        try (NDArray signs = new Signum(muon.momentum(), muon.nesterov()).of(gradient, memory, step);
                NDArray o = muon.orthogonalise(signs);
                NDArray square = o.square()) {
            Means.mix(memory.get(1), beta2, square);
            return NorMuon.equalized(o, memory.get(1), epsilon, norm);
        }
    }
}
