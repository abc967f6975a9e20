package hypertransfer.engine.proof;

import hypertransfer.engine.Format;

/**
 * How far results may be from the reference's.
 *
 * @param error the limit of {@link Result#error}
 * @param roundings the limit of {@link Result#roundings}, except where an operation rounds to bfloat16
 */
public record Tolerance(double error, double roundings) {
    /** A rounding that falls the other way is half a percent of a number, so that bfloat16 is compared loosely. */
    private static final double BFLOAT16 = 2e-2;

    /** What an engine whose weights have this format must reach. */
    public static Tolerance of(Format weights) {
        return new Tolerance(
                switch (weights) {
                    case FLOAT64 -> 1e-12;
                    case FLOAT32 -> 1e-5;
                    case BF16 -> BFLOAT16;
                },
                Double.POSITIVE_INFINITY);
    }

    public boolean accepts(Result result) {
        return result.rounded()
                ? result.error() <= BFLOAT16
                : result.error() <= error && result.roundings() <= roundings;
    }
}
