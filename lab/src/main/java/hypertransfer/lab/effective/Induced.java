package hypertransfer.lab.effective;

import hypertransfer.train.run.RecordedRates;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * What a run's recorded rates amount to.
 *
 * @param matrices one summary per hidden matrix
 * @param all the one named schedule for all matrices; null where all rates are zero
 */
record Induced(List<Summary> matrices, Fit all) {
    /** No fit needs more points of a curve. */
    private static final int POINTS = 256;

    /**
     * One matrix.
     *
     * @param shape the nearest named schedule; null where all rates are zero
     */
    record Summary(String matrix, double peak, int peakStep, double end, double endToPeak, Fit shape) {}

    /** Sums up every matrix of a recorded schedule. */
    static Induced of(RecordedRates recorded) {
        List<Summary> matrices = new ArrayList<>();
        List<List<Fit.Point>> curves = new ArrayList<>();
        recorded.rates().forEach((name, rates) -> {
            double peak = Collections.max(rates), end = rates.getLast();
            int step = rates.indexOf(peak);
            List<Fit.Point> curve = points(rates);
            Fit fit = curve.isEmpty() ? null : Fit.of(List.of(curve), rates.size(), List.of((long) step));
            matrices.add(new Summary(name, peak, step, end, peak == 0 ? 0 : end / peak, fit));
            if (!curve.isEmpty()) {
                curves.add(curve);
            }
        });
        List<Long> peaks =
                matrices.stream().map(m -> (long) m.peakStep).distinct().toList();
        return new Induced(matrices, curves.isEmpty() ? null : Fit.of(curves, recorded.steps(), peaks));
    }

    /** Every k-th step and the last; a rate of zero has no logarithm. */
    private static List<Fit.Point> points(List<Double> rates) {
        List<Fit.Point> points = new ArrayList<>();
        int every = Math.ceilDiv(rates.size(), POINTS);
        for (int t = 0; t < rates.size(); t++) {
            if ((t % every == 0 || t == rates.size() - 1) && rates.get(t) > 0) {
                points.add(new Fit.Point(t, Math.log(rates.get(t))));
            }
        }
        return points;
    }
}
