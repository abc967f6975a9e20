package hypertransfer.engine.proof;

import hypertransfer.engine.Format;

/**
 * How far one result of an operation is from the reference's. Both measures are NaN where a result is not a number.
 *
 * @param error the length of the difference over the length of the reference's result
 * @param roundings the largest difference of two numbers, in roundings of float32: relative to the largest number, and
 *     to the square root of how many terms the operation sums
 */
public record Result(String operation, String tensor, double error, double roundings) {
    static Result of(String operation, String tensor, double terms, double[] met, double[] expected) {
        double distance = 0, length = 0, largest = 0, difference = 0;
        for (int i = 0; i < expected.length; i++) {
            double d = met[i] - expected[i];
            distance += d * d;
            length += expected[i] * expected[i];
            largest = Math.max(largest, Math.abs(expected[i]));
            difference = Math.max(difference, Math.abs(d));
        }
        return new Result(
                operation,
                tensor,
                distance == 0 ? 0 : Math.sqrt(distance / length),
                difference == 0 ? 0 : difference / (Math.ulp(1f) * Math.sqrt(terms) * largest));
    }

    /**
     * How far results may be from the reference's.
     *
     * @param error the limit of {@link Result#error}
     * @param roundings the limit of {@link Result#roundings}, except where an operation rounds to bfloat16
     */
    public record Tolerance(double error, double roundings) {
        /** A rounding that falls the other way is half a percent of a number, so that bfloat16 is compared loosely. */
        private static final double BFLOAT16 = 2e-2;

        /** Of eight bits as well: a rounding that falls the other way is up to an eighth or a quarter of a number. */
        private static final double EIGHT_BITS = 3e-2;

        /** What an engine whose weights have this format must reach. */
        public static Tolerance of(Format weights) {
            return new Tolerance(
                    switch (weights) {
                        case FLOAT64 -> 1e-12;
                        case FLOAT32 -> 1e-5;
                        case BF16 -> BFLOAT16;
                        case FP8 -> EIGHT_BITS;
                    },
                    Double.POSITIVE_INFINITY);
        }

        public boolean accepts(Result result) {
            return result.operation.endsWith("bf16")
                    ? result.error() <= BFLOAT16
                    : result.error() <= error && result.roundings() <= roundings;
        }
    }
}
