package hypertransfer.prediction;

import hypertransfer.core.Refusal;
import hypertransfer.core.Schedule.Shaped;
import hypertransfer.core.Space;
import java.util.List;

/**
 * Tuned hyperparameters carried to another space, weight decay, direction, shape factor or width, without a run: the
 * effective rates that the tuned run is predicted to have are the ones that the other run must have.
 */
public final class Translation {
    private Translation() {}

    /**
     * A hidden matrix on both sides.
     *
     * @param from what is expected of it in the tuned run
     * @param to what is expected of it in the other run
     * @param count how many matrices are like it
     */
    public record Matrix(Expected from, Expected to, int count) {
        /** Refuses an empty kind. */
        public Matrix {
            if (count < 1) {
                throw new Refusal("there are " + count + " matrices of a kind; give one or more");
            }
        }
    }

    /**
     * A peak rate and a final ratio for all matrices.
     *
     * @param schedule with the warm-up and the shape of the other run's
     * @param error the error of the effective rates that remains: root mean square over steps and matrices of the
     *     logarithm of their ratio, for small errors the relative error
     */
    public record Pair(Shaped schedule, double error) {}

    /**
     * The best peak and final ratio for all these matrices together.
     *
     * @param matrices one entry per kind of matrix
     * @param from the space of the tuned run
     * @param tuned its schedule
     * @param to the other run's space
     * @param like a schedule with the warm-up and the shape of the other run's; its rates have no part in the answer
     * @return the pair and its error
     */
    public static Pair pair(List<Matrix> matrices, Space from, Shaped tuned, Space to, Shaped like) {
        if (like.steps() != tuned.steps()) {
            throw new Refusal("the tuned schedule has " + tuned.steps() + " steps and the other " + like.steps()
                    + "; rates are carried over between runs of one length");
        }
        if (matrices.isEmpty() || tuned.peak() == 0) {
            throw new Refusal("a translation needs at least one matrix and a peak rate above zero; there are "
                    + matrices.size() + " and the rate is " + tuned.peak());
        }
        double[][] wanted = matrices.stream()
                .map(m -> Prediction.of(m.from, from, tuned).effective())
                .toArray(double[][]::new);
        double peak = 0;
        double last = 0;
        for (int i = 0; i < wanted.length; i++) {
            double[] rates =
                    Prediction.following(matrices.get(i).to, to, wanted[i]).nominal();
            int top = tuned.steps() / 2; // the peak itself is often short: the middle of the run says more
            peak += rates[top] / tuned.rate(top) * tuned.peak() * matrices.get(i).count;
            last += matrices.get(i).count;
        }
        Shaped start = with(like, peak / last, tuned.finalRatio());
        return search(matrices, wanted, to, start);
    }

    /** Compares neighbours in log peak and final ratio, and halves the step when none is better. */
    private static Pair search(List<Matrix> matrices, double[][] wanted, Space to, Shaped start) {
        Shaped best = start;
        double error = error(matrices, wanted, to, start);
        for (double step = 0.25; step > 1e-7; step /= 2) {
            boolean moved = true;
            while (moved) {
                moved = false;
                for (int way = 0; way < 4; way++) {
                    double sign = way % 2 == 0 ? step : -step;
                    Shaped candidate = way < 2
                            ? with(best, best.peak() * Math.exp(sign), best.finalRatio())
                            : with(best, best.peak(), Math.clamp(best.finalRatio() + sign / 4, 0, 1));
                    double candidateError = error(matrices, wanted, to, candidate);
                    if (candidateError < error) {
                        best = candidate;
                        error = candidateError;
                        moved = true;
                    }
                }
            }
        }
        return new Pair(best, error);
    }

    /**
     * Root mean square of the ratio's logarithm, which counts twice and half alike, so that there and back is no loss of
     * its own; infinite where the rates cannot be taken at all.
     */
    private static double error(List<Matrix> matrices, double[][] wanted, Space to, Shaped schedule) {
        if (schedule.peak() * to.decay() >= 1) {
            return Double.POSITIVE_INFINITY;
        }
        double sum = 0;
        double count = 0;
        for (int i = 0; i < wanted.length; i++) {
            double[] got = Prediction.of(matrices.get(i).to, to, schedule).effective();
            double squares = 0;
            int compared = 0;
            for (int t = 0; t < got.length; t++) {
                if (wanted[i][t] > 0 && got[t] > 0) {
                    double off = Math.log(got[t] / wanted[i][t]);
                    squares += off * off;
                    compared++;
                }
            }
            sum += squares * matrices.get(i).count;
            count += (double) compared * matrices.get(i).count;
        }
        return Math.sqrt(sum / count);
    }

    private static Shaped with(Shaped schedule, double peak, double finalRatio) {
        return new Shaped(peak, schedule.steps(), schedule.warmup(), finalRatio, schedule.shape());
    }
}
