package hypertransfer.train.log;

import java.nio.file.Files;
import java.util.Arrays;

/**
 * How fast a run of ours turns its hidden matrices, over the lines of its {@code matrices.jsonl}, as many as were added. A
 * step's effective rate is the mean over the matrices. Between two lines the rate is taken as a straight line. A number is
 * NaN until there is a line.
 */
public final class Turning {
    /** Optimizers whose best runs have mean effective rates that differ so many times compare rates. */
    public static final double APART = 1.5;

    /** The largest effective rate of each matrix. */
    public final double[] peaks;

    /** The last effective rate of each matrix. */
    public final double[] last;

    private int first;
    private int step;
    private double rate = Double.NaN;
    private double peak = Double.NaN;
    private double before;

    /** Of a run with so many hidden matrices. */
    public Turning(int matrices) {
        peaks = new double[matrices];
        last = new double[matrices];
        Arrays.fill(peaks, Double.NaN);
        Arrays.fill(last, Double.NaN);
    }

    public static Turning of(Run run) {
        if (Files.notExists(run.file(Run.MATRICES))) {
            return new Turning(0);
        }
        Turning turning = new Turning(run.provenance().matrices().size());
        run.matrices().lines(Line.Matrices.class).forEach(turning::add);
        return turning;
    }

    /** Adds a line whose step comes after all others. */
    public void add(Line.Matrices line) {
        double[] effective = line.effective();
        for (int k = 0; k < effective.length; k++) {
            if (Double.isFinite(effective[k])) {
                last[k] = effective[k];
                peaks[k] = Double.isNaN(peaks[k]) ? effective[k] : Math.max(peaks[k], effective[k]);
            }
        }
        double now = mean(effective);
        if (!Double.isFinite(now)) {
            return;
        }
        if (Double.isNaN(rate)) {
            first = line.step();
            peak = now;
        } else {
            int steps = line.step() - step;
            before += steps * rate + (now - rate) * (steps - 1) / 2;
            peak = Math.max(peak, now);
        }
        step = line.step();
        rate = now;
    }

    public static double mean(double[] values) {
        return Arrays.stream(values).average().orElse(Double.NaN);
    }

    /** The largest effective rate of any step. */
    public double peak() {
        return peak;
    }

    /** The mean effective rate over the steps. */
    public double mean() {
        return angle() / (step + 1 - first);
    }

    /** The last effective rate over the largest: the mean over the matrices of each one's own ratio. */
    public double finalToPeak() {
        double sum = 0;
        for (int k = 0; k < peaks.length; k++) {
            sum += peaks[k] == 0 ? 0 : last[k] / peaks[k];
        }
        return sum / peaks.length;
    }

    /** The accumulated angle: the sum of the effective rates of all steps, that of the last line among them. */
    public double angle() {
        return before + rate;
    }

    /** The accumulated angle before the step of the last line. */
    public double angleBefore() {
        return before;
    }
}
