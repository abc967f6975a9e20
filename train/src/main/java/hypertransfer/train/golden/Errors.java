package hypertransfer.train.golden;

import hypertransfer.engine.Format;
import hypertransfer.train.Word;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The largest relative errors met so far, and the first few that were too large. */
public final class Errors {
    public enum Quantity implements Word {
        LOSS,
        GRADIENT,
        NORM,
        RATE
    }

    /** How far an engine may be from a golden trajectory, each number relative. */
    public record Tolerance(double loss, double gradient, double norm, double rate) {
        private static final double NONE = Double.POSITIVE_INFINITY;

        /** What an engine whose weights have this format must reach. */
        public static Tolerance of(Format weights) {
            return switch (weights) {
                case FLOAT64 -> new Tolerance(1e-9, 1e-9, 1e-9, 1e-9);
                case FLOAT32 -> new Tolerance(1e-5, 1e-4, 2e-5, 2e-5);
                // these: the directions of such small matrices are rounded beyond comparison, the losses are not
                case BF16, FP8 -> new Tolerance(2e-2, NONE, NONE, NONE);
            };
        }

        private double of(Quantity quantity) {
            return switch (quantity) {
                case LOSS -> loss;
                case GRADIENT -> gradient;
                case NORM -> norm;
                case RATE -> rate;
            };
        }

        /** The same where directions are signs: one may flip where its argument is next to zero, unless all is in double. */
        Tolerance ofSigns() {
            return loss <= 1e-9 ? this : new Tolerance(Math.max(loss, 1e-3), gradient, NONE, NONE);
        }
    }

    private static final int NAMED = 5;

    private final Tolerance tolerance;
    private final List<String> failures = new ArrayList<>();
    private final Map<Quantity, Double> largest = new EnumMap<>(Quantity.class);
    private int failed;

    public Errors(Tolerance tolerance) {
        this.tolerance = tolerance;
    }

    /** @param series what is expected of each step */
    void compare(Quantity quantity, String what, int step, double met, List<Double> series) {
        double expected = series.get(step);
        double error = expected == met ? 0 : Math.abs(met - expected) / Math.abs(expected);
        if (exceeds(quantity, error)) {
            fail("step " + step + ", " + what + ": is " + met + ", should be " + expected
                    + String.format(Locale.ROOT, " (relative error %.3g)", error));
        }
    }

    /** The distance of two gradients over the length of the expected one. */
    void gradient(String what, double[] met, double[] expected) {
        double distance = 0, length = 0;
        for (int i = 0; i < expected.length; i++) {
            distance += (met[i] - expected[i]) * (met[i] - expected[i]);
            length += expected[i] * expected[i];
        }
        double error = Math.sqrt(distance / length);
        if (exceeds(Quantity.GRADIENT, error)) {
            fail(String.format(Locale.ROOT, "gradient of %s: relative error %.3g", what, error));
        }
    }

    /** Takes in what another case met. */
    public void merge(Errors other) {
        other.largest.forEach((quantity, error) -> largest.merge(quantity, error, Math::max));
        failed += other.failed;
    }

    /** Takes an error in; one that is no number is beyond every tolerance. */
    private boolean exceeds(Quantity quantity, double error) {
        largest.merge(quantity, Double.isNaN(error) ? Double.POSITIVE_INFINITY : error, Math::max);
        return !(error <= tolerance.of(quantity));
    }

    private void fail(String sentence) {
        if (failed++ < NAMED) {
            failures.add(sentence);
        }
    }

    public boolean passed() {
        return failed == 0;
    }

    /** The first sentences, and how many more there are. */
    public List<String> failures() {
        List<String> shown = new ArrayList<>(failures);
        if (failed > failures.size()) {
            shown.add("and " + (failed - failures.size()) + " more");
        }
        return shown;
    }

    public double largest(Quantity quantity) {
        return largest.getOrDefault(quantity, 0.0);
    }
}
