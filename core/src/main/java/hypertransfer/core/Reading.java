package hypertransfer.core;

/**
 * The three numbers measured on the tensors at every step, before the move. Sum them in double precision, whatever the
 * tensors hold: the next step's norms are predicted from them.
 *
 * @param w the carrier's norm |w|, the square root of the sum of squares
 * @param u the direction's norm |u|, likewise
 * @param uw the inner product of u and w, the sum of the products of their entries
 */
public record Reading(double w, double u, double uw) {
    /**
     * The reading of plain arrays.
     *
     * @param w the carrier's matrix
     * @param u the direction, as many numbers
     * @return the three numbers
     */
    public static Reading of(double[] w, double[] u) {
        if (w.length != u.length) {
            throw new Refusal("the matrix has " + w.length + " numbers, and its direction " + u.length);
        }
        double ww = 0, uu = 0, uw = 0;
        for (int i = 0; i < w.length; i++) {
            ww += w[i] * w[i];
            uu += u[i] * u[i];
            uw += u[i] * w[i];
        }
        return new Reading(Math.sqrt(ww), Math.sqrt(uu), uw);
    }
}
