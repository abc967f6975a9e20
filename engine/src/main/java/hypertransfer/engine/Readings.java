package hypertransfer.engine;

/**
 * Three numbers of every pair of tensors w, u, one pair after the other: what {@link Motion#readings} takes.
 *
 * @param numbers |w|, |u| and their inner product, of each pair
 */
public record Readings(double[] numbers) {
    /** How many numbers a pair has. */
    public static final int EACH = 3;

    public double w(int k) {
        return numbers[EACH * k];
    }

    public double u(int k) {
        return numbers[EACH * k + 1];
    }

    /** The inner product. */
    public double uw(int k) {
        return numbers[EACH * k + 2];
    }
}
