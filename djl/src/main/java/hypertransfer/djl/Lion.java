package hypertransfer.djl;

import ai.djl.ndarray.NDArray;
import hypertransfer.core.Limits;
import java.util.List;

/**
 * {@code sign(beta1 m + (1 - beta1) g)}, then {@code m <- beta2 m + (1 - beta2) g}, from zero (Chen et al., arXiv
 * 2302.06675).
 *
 * @param beta1 how far the sign looks back, from 0 to less than 1
 * @param beta2 of the mean that is kept, from 0 to less than 1
 */
public record Lion(double beta1, double beta2) implements Direction {
    /** Refuses what is out of range. */
    public Lion {
        Limits.fraction("beta1", beta1);
        Limits.fraction("beta2", beta2);
    }

    @Override
    public String signature() {
        return "lion(" + beta1 + ", " + beta2 + ")";
    }

    @Override
    public NDArray of(NDArray gradient, List<NDArray> memory, long step) {
        NDArray m = memory.getFirst();
        try (NDArray ahead = m.duplicate()) {
            Means.mix(ahead, beta1, gradient);
            Means.mix(m, beta2, gradient);
            return ahead.sign();
        }
    }
}
