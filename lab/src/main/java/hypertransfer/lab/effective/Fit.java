package hypertransfer.lab.effective;

import hypertransfer.core.Decline;
import hypertransfer.core.Schedule.Shaped;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

/**
 * The named schedule nearest to measured rates.
 *
 * @param shape as {@code matrices.schedule} takes it
 * @param error root mean square of the logarithm of the ratio, for small errors the relative error
 */
record Fit(String shape, double peak, double warmup, double finalRatio, double error) {
    private static final List<String> SHAPES = List.of("linear", "cosine", "constant", "trapezoid:0.2", "1-sqrt:0.2");
    private static final int MOST = 128;

    record Point(double step, double logRate) {}

    /**
     * The best of all shapes; null where all rates are zero, or where fewer than three points would fit anything.
     *
     * @param horizon the number of steps
     * @param peaks the steps with the largest rates: where warm-ups may have ended
     */
    static Fit of(List<List<Point>> curves, long horizon, List<Long> peaks) {
        int steps = Math.clamp(horizon, 1, Integer.MAX_VALUE);
        List<Point> points = new ArrayList<>();
        for (List<Point> curve : curves) {
            int every = Math.max(1, curve.size() * curves.size() / (MOST * Math.min(4, curves.size())));
            for (int i = 0; i < curve.size(); i += every) {
                points.add(curve.get(i));
            }
        }
        if (points.size() < 3) {
            return null;
        }
        TreeSet<Double> warmups = new TreeSet<>(List.of(0.0, 0.01, 0.02, 0.05, 0.1));
        peaks.stream().limit(4).forEach(p -> warmups.add(Math.min(0.9, (p + 1.0) / steps)));
        Fit best = null;
        for (String shape : SHAPES) {
            for (double warmup : warmups) {
                double from = 0, to = shape.equals("constant") ? 0 : 1;
                for (double step = 0.05; step > 5e-4; step /= 8) { // finer around the best
                    Fit near = null;
                    for (double ratio = from; ratio <= to + 1e-12; ratio += step) {
                        Fit fit = fit(points, shape, steps, warmup, Math.min(1, ratio));
                        near = near == null || fit.error < near.error ? fit : near;
                    }
                    best = best == null || near.error < best.error ? near : best;
                    from = Math.max(0, near.finalRatio - step);
                    to = to == 0 ? 0 : Math.min(1, near.finalRatio + step);
                }
            }
        }
        return best;
    }

    /** The best peak for a shape has a closed form in logarithms. */
    private static Fit fit(List<Point> points, String shape, int steps, double warmup, double ratio) {
        Shaped unit = new Shaped(1, steps, warmup, ratio, Decline.parse(shape));
        double sum = 0;
        double squares = 0;
        for (Point p : points) {
            double off = p.logRate - Math.log(Math.max(1e-12, between(unit, p.step)));
            sum += off;
            squares += off * off;
        }
        double mean = sum / points.size();
        double error = Math.sqrt(Math.max(0, squares / points.size() - mean * mean));
        return new Fit(shape, Math.exp(mean), warmup, ratio, error);
    }

    static String text(Fit fit) {
        return fit == null
                ? "unknown: fewer than three rates above zero"
                : String.format(
                        "%s, peak %.4g, warm-up %.3f, final ratio %.4f, error %.1f %%",
                        fit.shape, fit.peak, fit.warmup, fit.finalRatio, 100 * fit.error);
    }

    private static double between(Shaped schedule, double step) {
        int low = (int) Math.clamp(Math.floor(step), 0, schedule.steps() - 1);
        int high = Math.min(low + 1, schedule.steps() - 1);
        double part = step - low;
        return (1 - part) * schedule.rate(low) + part * schedule.rate(high);
    }
}
