package hypertransfer.lab.effective;

import java.util.ArrayList;
import java.util.List;

/**
 * One matrix's effective rate over a log of any length, in bounded memory: neighbours are merged when there are too many.
 */
final class Curve {
    private static final int MOST = 512;

    /** A stretch of steps: sums, to be merged. */
    private static final class Stretch {
        long step;
        int rows;
        double logEffective, impliedDecay;
        double grown; // what updates added to the squared norm, where the next step is there to tell
        double taken; // the part of the squared norm that decay took in the same steps

        void merge(Stretch next) {
            rows += next.rows;
            logEffective += next.logEffective;
            impliedDecay += next.impliedDecay;
            grown += next.grown;
            taken += next.taken;
        }
    }

    private final String matrix;
    private List<Stretch> stretches = new ArrayList<>();
    private int width = 1; // rows per stretch
    private long rows, lastStep = -1, peakStep;
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
     * The next step.
     *
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
            Stretch before = stretches.getLast();
            before.grown += norm * norm - lastKept * lastKept * lastNorm * lastNorm;
            before.taken += 1 - lastKept * lastKept;
        }
        if (stretches.isEmpty() || stretches.getLast().rows == width) {
            if (stretches.size() == MOST) {
                halve();
            }
            Stretch fresh = new Stretch();
            fresh.step = step;
            stretches.add(fresh);
        }
        Stretch now = stretches.getLast();
        now.rows++;
        now.logEffective += Math.log(Math.max(effective, Double.MIN_NORMAL));
        now.impliedDecay += impliedDecay;
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

    private void halve() {
        List<Stretch> fewer = new ArrayList<>();
        for (int i = 0; i < MOST; i += 2) {
            stretches.get(i).merge(stretches.get(i + 1));
            fewer.add(stretches.get(i));
        }
        stretches = fewer;
        width *= 2;
    }

    /** The points of the curve: step and effective rate, a geometric mean over a stretch. */
    List<Fit.Point> points() {
        return stretches.stream()
                .map(s -> new Fit.Point(s.step + (s.rows - 1) * Math.max(1, stride) / 2.0, s.logEffective / s.rows))
                .toList();
    }

    long horizon() {
        return lastStep + Math.max(1, stride);
    }

    long peakStep() {
        return peakStep;
    }

    Effective.Summary summary() {
        double grown = 0, taken = 0, implied = 0;
        int counted = 0;
        for (Stretch s : stretches.subList(stretches.size() - Math.max(1, stretches.size() / 10), stretches.size())) {
            grown += s.grown;
            taken += s.taken;
            implied += s.impliedDecay;
            counted += s.rows;
        }
        Double rest = taken > 0 && grown > 0 ? Math.sqrt(grown / taken) : null;
        Double decay = Double.isNaN(implied) ? null : (Double) (implied / counted);
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
                decay,
                fit,
                gaps,
                firstGap);
    }
}
