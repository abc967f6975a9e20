package hypertransfer.lab.experiment;

import hypertransfer.train.run.Trajectory;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.NavigableMap;

/**
 * A run beside the one it follows. Gaps are absolute differences of losses; norm and rate are the largest relative
 * errors over all hidden matrices and steps.
 */
public record Gap(
        int steps,
        double finalTraining,
        double largestTraining,
        double finalValidation,
        double largestValidation,
        double norm,
        double rate) {

    public static Gap of(Path run, Path target) {
        Trajectory a = Trajectory.read(run), b = Trajectory.read(target);
        double norm = 0, rate = 0;
        for (int step : a.matrices().keySet()) {
            Trajectory.Matrices own = a.matrices().get(step),
                    other = b.matrices().get(step);
            if (other != null) {
                norm = Math.max(norm, relative(own.targetNorm(), other.targetNorm()));
                rate = Math.max(rate, relative(own.effective(), other.effective()));
            }
        }
        return new Gap(
                a.losses().size(),
                last(a.losses(), b.losses()),
                largest(a.losses(), b.losses()),
                last(a.validations(), b.validations()),
                largest(a.validations(), b.validations()),
                norm,
                rate);
    }

    private static double last(NavigableMap<Integer, Double> own, NavigableMap<Integer, Double> other) {
        return own.descendingKeySet().stream()
                .filter(other::containsKey)
                .findFirst()
                .map(step -> Math.abs(own.get(step) - other.get(step)))
                .orElse(Double.NaN);
    }

    private static double largest(NavigableMap<Integer, Double> own, NavigableMap<Integer, Double> other) {
        return own.keySet().stream()
                .filter(other::containsKey)
                .mapToDouble(step -> Math.abs(own.get(step) - other.get(step)))
                .max()
                .orElse(Double.NaN);
    }

    private static double relative(List<Double> own, List<Double> other) {
        double largest = 0;
        for (int k = 0; k < Math.min(own.size(), other.size()); k++) {
            double expected = other.get(k);
            if (expected != 0) {
                largest = Math.max(largest, Math.abs(own.get(k) - expected) / Math.abs(expected));
            }
        }
        return largest;
    }

    public String table() {
        return String.format(
                Locale.ROOT,
                """
                gap to the target over %d steps
                  training loss      final %.2e   largest %.2e
                  validation loss    final %.2e   largest %.2e
                  target norm        largest relative error %.2e
                  effective rate     largest relative error %.2e
                """,
                steps,
                finalTraining,
                largestTraining,
                finalValidation,
                largestValidation,
                norm,
                rate);
    }
}
