package hypertransfer.engine.proof;

/**
 * How far results may be from the reference's.
 *
 * @param error the limit of {@link Result#error}
 * @param roundings the limit of {@link Result#roundings}, except where an operation rounds to bfloat16
 */
public record Tolerance(double error, double roundings) {
    /** A rounding that falls the other way is half a percent of a number, so that bfloat16 is compared loosely. */
    private static final double BFLOAT16 = 2e-2;

    /** What an engine in bfloat16 must reach. */
    public static final Tolerance BF16 = new Tolerance(BFLOAT16, Double.POSITIVE_INFINITY);

    /** What an engine in float32 must reach. */
    public static final Tolerance FLOAT32 = new Tolerance(1e-5, Double.POSITIVE_INFINITY);

    public boolean accepts(Result result) {
        return result.rounded()
                ? result.error() <= BFLOAT16
                : result.error() <= error && result.roundings() <= roundings;
    }
}
