package hypertransfer.train.golden;

import hypertransfer.engine.Format;

/** How far an engine may be from a golden trajectory, each number relative. */
public record Tolerance(double loss, double gradient, double norm, double rate) {
    private static final double NONE = Double.POSITIVE_INFINITY;

    /** What an engine whose weights have this format must reach. */
    public static Tolerance of(Format weights) {
        return switch (weights) {
            case FLOAT64 -> new Tolerance(1e-9, 1e-9, 1e-9, 1e-9);
            case FLOAT32 -> new Tolerance(1e-5, 1e-4, 2e-5, 2e-5);
            // bfloat16: the directions of such small matrices are rounded beyond comparison, the losses are not
            case BF16 -> new Tolerance(2e-2, NONE, NONE, NONE);
        };
    }

    /** The same where directions are signs: one may flip where its argument is next to zero, unless all is in double. */
    Tolerance ofSigns() {
        return loss <= 1e-9 ? this : new Tolerance(Math.max(loss, 1e-3), gradient, NONE, NONE);
    }
}
