package hypertransfer.train.golden;

import hypertransfer.core.Refusal;

/** How far an engine may be from a golden trajectory, each number relative. */
public record Tolerance(double loss, double gradient, double norm, double rate) {
    private static final double NONE = Double.POSITIVE_INFINITY;

    /** What an engine of this number format must reach. */
    public static Tolerance of(String engine) {
        return switch (engine) {
            case "reference" -> new Tolerance(1e-9, 1e-9, 1e-9, 1e-9);
            case "cpu", "cuda-float32" -> new Tolerance(1e-5, 1e-4, 2e-5, 2e-5);
            // bfloat16: the directions of such small matrices are rounded beyond comparison, the losses are not
            case "cuda" -> new Tolerance(2e-2, NONE, NONE, NONE);
            default -> throw new Refusal("no tolerance is set for engine '" + engine + "'");
        };
    }
}
