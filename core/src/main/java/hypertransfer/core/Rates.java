package hypertransfer.core;

import java.util.Arrays;

/** The paper's closed forms between nominal and effective rates, for those who need just a number. */
public final class Rates {
    private Rates() {}

    /** The effective learning rate of a Base optimizer: {@code eta |u| / ((1 - eta lambda) |w|)}. */
    public static double effective(double eta, double lambda, double u, double w) {
        return eta * u / ((1 - eta * lambda) * w);
    }

    /** The fair learning rate: the nominal rate whose effective rate is the one prescribed (eq. fair-learning-rate). */
    public static double fair(double effective, double lambda, double u, double w) {
        return effective * w / (u + effective * lambda * w);
    }

    /**
     * The rate with which decay {@code lambda2} at norm {@code s2} turns by the angle that rate {@code eta1} and decay
     * {@code lambda1} turn by at norm {@code s1} (eq. wd-transferred-lr).
     */
    public static double transferred(double eta1, double lambda1, double s1, double lambda2, double s2) {
        return eta1 * s2 / ((1 - eta1 * lambda1) * s1 + eta1 * lambda2 * s2);
    }

    /** The last rate of a run over its largest: what a schedule's nominal final ratio really became. */
    public static double finalToPeak(double[] effective) {
        if (effective.length == 0) {
            throw new Refusal("a final-to-peak ratio needs at least one rate");
        }
        double peak = Arrays.stream(effective).max().getAsDouble();
        return peak == 0 ? 0 : effective[effective.length - 1] / peak;
    }
}
