package hypertransfer.lab.effective;

import hypertransfer.lab.report.Buckets;
import java.util.List;

/**
 * One matrix's effective rate over a log of any length, in bounded memory: neighbours are merged when there are too many.
 */
final class Curve {
    private static final int MOST = 512;

    /**
     * A stretch of steps: sums, to be merged.
     *
     * @param rows how many have a rate above zero
     * @param grown what updates added to the squared norm, where the next step is there to tell
     * @param taken the part of the squared norm that decay took in the same steps
     */
    private record Stretch(long step, int rows, double logEffective, double impliedDecay, double grown, double taken) {
        Stretch and(Stretch next) {
            return new Stretch(
                    step,
                    rows + next.rows,
                    logEffective + next.logEffective,
                    impliedDecay + next.impliedDecay,
                    grown + next.grown,
                    taken + next.taken);
        }
    }

    private final String matrix;
    private final Buckets<Stretch> stretches = new Buckets<>(MOST, Stretch::and); // by row
    private int rows;
    private long lastStep = -1, peakStep;
    private long stride, gaps, firstGap = -1; // the distance of the first two steps, and where another one was met
    private double firstNorm, lastNorm, lastKept, lastEffective, peak;

    Curve(String matrix) {
        this.matrix = matrix;
    }

    /** The step before, -1 at the start: steps must rise. */
    long lastStep() {
        return lastStep;
    }

    /**
     * @param kept 1 - rate * decay
     * @param impliedDecay rate * decay / effective; NaN where it is unknown
     */
    void add(long step, double norm, double effective, double kept, double impliedDecay) {
        if (rows == 0) {
            firstNorm = norm;
        } else if (rows == 1) {
            stride = step - lastStep;
        } else if (step - lastStep != stride && gaps++ == 0) {
            firstGap = lastStep;
        }
        if (rows > 0 && step == lastStep + 1) {
            double grown = norm * norm - lastKept * lastKept * lastNorm * lastNorm;
            stretches.add(rows - 1, new Stretch(step, 0, 0, 0, grown, 1 - lastKept * lastKept));
        }
        stretches.add( // a rate of zero has no logarithm
                rows,
                effective == 0
                        ? new Stretch(step, 0, 0, 0, 0, 0)
                        : new Stretch(step, 1, Math.log(effective), impliedDecay, 0, 0));
        if (effective > peak) {
            peak = effective;
            peakStep = step;
        }
        rows++;
        lastStep = step;
        lastNorm = norm;
        lastKept = kept;
        lastEffective = effective;
    }

    /** The points of the curve: step and effective rate, a geometric mean over a stretch. */
    List<Fit.Point> points() {
        return stretches.all().stream()
                .filter(s -> s.rows > 0)
                .map(s -> new Fit.Point(s.step + (s.rows - 1) * Math.max(1, stride) / 2.0, s.logEffective / s.rows))
                .toList();
    }

    long horizon() {
        return lastStep + Math.max(1, stride);
    }

    Effective.Summary summary() {
        int tenth = Math.max(1, stretches.all().size() / 10);
        Stretch end = stretches.all().stream()
                .skip(stretches.all().size() - tenth)
                .reduce(Stretch::and)
                .orElseThrow();
        Double rest = end.taken > 0 && end.grown > 0 ? Math.sqrt(end.grown / end.taken) : null;
        double ratio = peak == 0 ? 0 : lastEffective / peak;
        Fit fit = Fit.of(List.of(points()), horizon(), List.of(peakStep));
        return new Effective.Summary(
                matrix,
                rows,
                firstNorm,
                lastNorm,
                peak,
                peakStep,
                lastEffective,
                ratio,
                rest,
                end.impliedDecay / end.rows,
                fit,
                gaps,
                firstGap);
    }
}
