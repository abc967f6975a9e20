package hypertransfer.train.config;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import hypertransfer.core.Coefficients;
import hypertransfer.core.ShapeFactor;

/**
 * How gradients of hidden matrices become directions. Each direction reads some of these and ignores the others.
 *
 * @param momentum of all but adam, lion and soap
 * @param nesterov of the same
 * @param coefficients the Newton-Schulz iteration of muon, normuon and adamuon
 * @param schulzSteps how many steps of it; 0 for the usual number
 * @param bf16 whether it is rounded to bfloat16
 * @param shapeFactor of muon and normuon
 * @param moments of adam and soap; lion has no epsilon, normuon and adamuon no beta1
 * @param gram of soap
 */
public record Update(
        Kind direction,
        double momentum,
        boolean nesterov,
        Coefficients coefficients,
        int schulzSteps,
        boolean bf16,
        ShapeFactor shapeFactor,
        @JsonUnwrapped Moments moments,
        @JsonUnwrapped Gram gram) {

    /** The directions that a configuration can name. */
    public enum Kind {
        MUON,
        ADAM,
        SGD,
        LION,
        SIGNUM,
        NORMUON,
        ADAMUON,
        SOAP;

        /** Whether the direction has a form that looks ahead by its own momentum. */
        boolean looksAhead() {
            return this != ADAM && this != LION && this != SOAP;
        }

        /** What it makes of beta1 and beta2; empty where it reads neither. */
        String betas() {
            return switch (this) {
                case LION -> "what the sign looks back by and the mean that is kept";
                case ADAM, SOAP -> "the first and the second moment";
                case NORMUON, ADAMUON -> "the second moment";
                case MUON, SGD, SIGNUM -> "";
            };
        }

        /** Whether it has factors for shapes; adam and sgd have always ignored the key. */
        boolean shaped() {
            return this == MUON || this == NORMUON || this == ADAM || this == SGD;
        }
    }

    /**
     * SOAP's Gram matrices.
     *
     * @param preconditionFrequency steps from one turn of their bases to the next
     * @param largestSide a longer side has none
     */
    public record Gram(double shampooBeta, int preconditionFrequency, int largestSide) {}

    /** Adam's. */
    public record Moments(double beta1, double beta2, double epsilon) {}
}
