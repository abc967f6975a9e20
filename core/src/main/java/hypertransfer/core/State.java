package hypertransfer.core;

/**
 * All that the algebra remembers of one matrix between two steps. Its doubles printed with {@link Double#toString} and
 * parsed again give the same state, bit for bit.
 *
 * @param matrix its name, for errors and logs
 * @param step the number of steps taken, so the index of the next from zero
 * @param R the carrier's radius: |w| at the start, or what {@link #zero} was given
 * @param norm the carrier's norm |w| now, as the algebra predicts it (the next reading replaces it)
 * @param targetNorm the target's norm now: its radius, or the proxy norm s of the paper
 */
public record State(String matrix, long step, double R, double norm, double targetNorm) {
    /** Refuses norms that are not finite numbers, zero or more, and a step below zero. */
    public State {
        if (!(finite(R) && finite(norm) && finite(targetNorm) && step >= 0)) {
            throw new Refusal("state of " + matrix + " is damaged: step " + step + ", R " + R + ", norm " + norm
                    + ", target norm " + targetNorm + "; restore it from a good checkpoint");
        }
    }

    /**
     * Carrier and target start from the same matrix.
     *
     * @param matrix its name, for errors and logs
     * @param norm its norm |w|, finite, zero or more; only the plain Base optimizer can move a matrix of norm zero
     * @return the state before step 0
     */
    public static State start(String matrix, double norm) {
        return new State(matrix, 0, norm, norm, norm);
    }

    /**
     * Carrier and target start from a matrix of zeros. The first direction that is not zero decides where they stand: a
     * Hyperball at its radius, a Base target at its ordinary first step, a Base carrier where its target is.
     *
     * @param matrix its name, for errors and logs
     * @param radius of the Hyperball, whether it is carrier or target, finite and above zero
     * @return the state before step 0
     */
    public static State zero(String matrix, double radius) {
        Limits.aboveZero("the radius of " + matrix + ", which starts at zero,", radius);
        return new State(matrix, 0, radius, 0, radius);
    }

    /** {@return whether the matrix is still the zeros that {@link #zero} began with} */
    boolean unmoved() {
        return norm == 0 && R > 0;
    }

    /**
     * The same, with a target on the same ray but of another norm, e.g. a Hyperball of another radius.
     *
     * @param targetNorm the target's norm, finite, zero or more
     * @return the changed state
     */
    public State withTargetNorm(double targetNorm) {
        return new State(matrix, step, R, norm, targetNorm);
    }

    static boolean finite(double norm) {
        return norm >= 0 && norm < Double.POSITIVE_INFINITY;
    }
}
