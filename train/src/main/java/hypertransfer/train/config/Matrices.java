package hypertransfer.train.config;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import hypertransfer.core.GradientRule;
import hypertransfer.core.Mode;
import hypertransfer.train.optimizer.View;
import java.util.Map;

/**
 * The hidden matrices: how they are moved, and what they follow.
 *
 * @param rate the target's peak
 * @param decay the carrier's, or the target's where the carrier is a Hyperball
 * @param targetDecay of decay-transfer
 * @param radius of a Hyperball, as a multiple of the matrix's norm at the start
 * @param view the parts of a hidden matrix that count as matrices
 * @param recorded a file of rates that replace the schedule, or null
 * @param groups settings of some of them, by name pattern; see {@link Groups}
 */
public record Matrices(
        @JsonUnwrapped Update update,
        Mode mode,
        Gradient gradient,
        double rate,
        double decay,
        double targetDecay,
        double radius,
        @JsonUnwrapped Start start,
        View view,
        @JsonUnwrapped Fall fall,
        String recorded,
        @JsonUnwrapped Proxy proxy,
        @JsonUnwrapped Weights weights,
        Map<String, Map<String, Object>> groups) {

    /**
     * What the matrices start from.
     *
     * @param zeroRadius the radius of a Hyperball whose matrix starts at zero, as a length; 0 for none
     */
    public record Start(Init init, double zeroRadius) {}

    /** The numbers that a matrix starts with. */
    public enum Init {
        NORMAL,
        ZERO
    }

    /** Where the network is evaluated: as the mode says, as a measurement says, or by a rule. */
    public enum Gradient {
        MODE,
        AUTO,
        AS_IS,
        RESCALED,
        REPRESENTATIVE,
        AT_RADIUS,
        /** Also where the loss depends on the scale of a matrix. */
        AT_RADIUS_ANYWAY;

        GradientRule rule(GradientRule own) {
            return switch (this) {
                case MODE, AUTO -> own;
                case AT_RADIUS_ANYWAY -> GradientRule.AT_RADIUS;
                default -> GradientRule.valueOf(name());
            };
        }
    }

    /**
     * The proxy norm on a schedule of its own.
     *
     * @param proxyGrowth the last one over the radius; null where the norm follows the paper's recursion
     */
    public record Proxy(Double proxyGrowth, double proxyPower) {
        /** Whether there is such a schedule. */
        public boolean prescribed() {
            return proxyGrowth != null;
        }

        /** The proxy norm before a step, over the radius. */
        public double norm(int step, int steps) {
            return 1 + (proxyGrowth - 1) * Math.pow((double) step / steps, proxyPower);
        }
    }

    /**
     * What the optimizer moves and what the network sees of it.
     *
     * @param grid bits of mantissa that the network's weights keep; 0 for all
     * @param placebo the factor that the network is evaluated at
     */
    public record Weights(Master master, int grid, double placebo) {}

    /** The number format of the masters. */
    public enum Master {
        AUTO,
        FLOAT32,
        FLOAT64
    }
}
