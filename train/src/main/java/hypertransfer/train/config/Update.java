package hypertransfer.train.config;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import hypertransfer.core.Coefficients;
import hypertransfer.core.ShapeFactor;

/**
 * How gradients of hidden matrices become directions. Each direction reads some of these and ignores the others.
 *
 * @param momentum of muon and sgd
 * @param nesterov of muon and sgd
 * @param coefficients muon's Newton-Schulz polynomial
 * @param bf16 whether it is rounded to bfloat16
 * @param shapeFactor of muon
 * @param moments of adam
 */
public record Update(
        Kind direction,
        double momentum,
        boolean nesterov,
        Coefficients coefficients,
        boolean bf16,
        ShapeFactor shapeFactor,
        @JsonUnwrapped Moments moments) {

    /** The directions that a configuration can name. */
    public enum Kind {
        MUON,
        ADAM,
        SGD
    }

    /** Adam's. */
    public record Moments(double beta1, double beta2, double epsilon) {}
}
