package hypertransfer.core;

import java.util.Arrays;

/** The paper's closed forms between nominal and effective rates, for those who need only a number. */
public final class Rates {
    private Rates() {}

    /**
     * The effective learning rate of a Base optimizer: {@code eta |u| / ((1 - eta lambda) |w|)} (equation 18).
     *
     * @param eta the nominal rate
     * @param lambda the weight decay; {@code eta lambda} must be below 1
     * @param u the direction's norm |u|
     * @param w the matrix's norm |w|, above zero
     * @return the effective rate, an angular step
     * @throws Refusal if one of them is out of range
     */
    public static double effective(double eta, double lambda, double u, double w) {
        if (!(eta >= 0 && eta * lambda < 1 && u >= 0 && w > 0)) {
            throw new Refusal("there is no effective rate for eta " + eta + ", lambda " + lambda + ", |u| " + u
                    + " and |w| " + w + "; eta and |u| must be zero or more, |w| above zero, and eta lambda below 1");
        }
        return eta * u / ((1 - eta * lambda) * w);
    }

    /**
     * The fair learning rate: the nominal rate whose effective rate is the one prescribed (equation 19).
     *
     * @param effective the effective rate to have, an angular step
     * @param lambda the weight decay
     * @param u the direction's norm |u|, above zero
     * @param w the matrix's norm |w|, above zero
     * @return the nominal rate of a Base optimizer
     * @throws Refusal if one of them is out of range
     */
    public static double fair(double effective, double lambda, double u, double w) {
        if (!(effective >= 0 && lambda >= 0 && u > 0 && w > 0)) {
            throw new Refusal("no rate gives the effective rate " + effective + " with lambda " + lambda + ", |u| " + u
                    + " and |w| " + w + "; the first two must be zero or more, the norms above zero");
        }
        return effective * w / (u + effective * lambda * w);
    }

    /**
     * The rate with which decay {@code lambda2} at norm {@code s2} turns by the angle that rate {@code eta1} and decay
     * {@code lambda1} turn by at norm {@code s1} (equation 27).
     *
     * @param eta1 the nominal rate to follow
     * @param lambda1 the weight decay that goes with it; {@code eta1 lambda1} must be below 1
     * @param s1 the norm of the matrix that is followed
     * @param lambda2 the weight decay of the matrix that follows
     * @param s2 the norm of the matrix that follows
     * @return the nominal rate of the matrix that follows
     * @throws Refusal if one of them is out of range
     */
    public static double transferred(double eta1, double lambda1, double s1, double lambda2, double s2) {
        if (!(eta1 >= 0 && eta1 * lambda1 < 1 && lambda2 >= 0 && s1 > 0 && s2 > 0)) {
            throw new Refusal(
                    "eta1 " + eta1 + ", lambda1 " + lambda1 + ", s1 " + s1 + ", lambda2 " + lambda2 + " and s2 " + s2
                            + " give no rate; norms must be above zero, the others zero or more, and eta1 lambda1 below 1");
        }
        return eta1 * s2 / ((1 - eta1 * lambda1) * s1 + eta1 * lambda2 * s2);
    }

    /**
     * The last rate of a run over its largest: what a schedule's nominal final ratio really became.
     *
     * @param effective the effective rate of each step, at least one
     * @return the ratio, from 0 to 1; 0 where all rates are 0
     * @throws Refusal if there is no rate, or one that is not a finite number, zero or more
     */
    public static double finalToPeak(double[] effective) {
        if (effective.length == 0) {
            throw new Refusal("a final-to-peak ratio needs at least one rate");
        }
        Arrays.stream(effective).forEach(rate -> Limits.zeroOrMore("an effective rate", rate));
        double peak = Arrays.stream(effective).max().getAsDouble();
        return peak == 0 ? 0 : effective[effective.length - 1] / peak;
    }
}
