package hypertransfer.engine.proof;

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

    /** Whether the operation itself is asked to round to bfloat16. */
    boolean rounded() {
        return operation.endsWith("bf16");
    }
}
