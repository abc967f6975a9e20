package hypertransfer.djl;

import ai.djl.ndarray.NDArray;
import hypertransfer.core.Limits;
import java.util.List;

/**
 * The sign of the mean {@code m <- momentum m + (1 - momentum) g}, which starts at the first gradient.
 *
 * @param momentum from 0 to less than 1
 * @param nesterov whether the sign is of {@code momentum m + (1 - momentum) g}
 */
public record Signum(double momentum, boolean nesterov) implements Direction {
    /** Refuses a momentum out of range. */
    public Signum {
        Limits.fraction("momentum", momentum);
    }

    @Override
    public String signature() {
        return "signum(" + momentum + (nesterov ? ", nesterov" : "") + ")";
    }

    @Override
    public NDArray of(NDArray gradient, List<NDArray> memory, long step) {
        try (Means mean = Means.momentum(gradient, memory.getFirst(), momentum, nesterov, step)) {
            return mean.value().sign();
        }
    }
}
