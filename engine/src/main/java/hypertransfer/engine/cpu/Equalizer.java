package hypertransfer.engine.cpu;

import hypertransfer.engine.Tensor;
import hypertransfer.engine.cpu.memory.Floats;
import hypertransfer.engine.cpu.thread.Pool;
import hypertransfer.engine.cpu.thread.Task;
import hypertransfer.engine.cpu.vector.Lanes;
import hypertransfer.engine.cpu.vector.Sums;
import java.util.List;
import jdk.incubator.vector.FloatVector;

/**
 * Numbers divided by the root of their mean square over the steps. A piece is some rows of one matrix, as many as its
 * shape says, so that sums come out the same on any number of threads.
 */
final class Equalizer {
    private static final int CHUNK = 1 << 15;

    private final Pool pool;
    private List<Tensor> x, v;
    private float beta, fresh;
    private double exactBeta, epsilon;
    private int[] first = {}; // the first piece of each matrix
    private double[] sums = {}; // of each piece: x^2 and p^2
    private double[] factors = {}; // of each matrix

    private final Task divide = (piece, worker) -> {
        int k = matrix(piece);
        Floats xs = (Floats) x.get(k), vs = (Floats) v.get(k);
        int from = (piece - first[k]) * rows(xs), rows = Math.min(rows(xs), xs.rows() - from), n = xs.cols();
        long at = xs.at() + 4L * from * n, mean = vs.at() + 4L * from * vs.cols();
        if (vs.cols() == n) {
            sums[2 * piece] = Sums.squares(at, (long) rows * n);
            numbers(at, mean, beta, fresh, (float) epsilon, rows * n);
            sums[2 * piece + 1] = Sums.squares(at, (long) rows * n);
            return;
        }
        sums[2 * piece] = sums[2 * piece + 1] = 0;
        for (int row = 0; row < rows; row++) {
            row(at + 4L * row * n, mean + 4L * row, n, 2 * piece);
        }
    };
    private final Task scale = (piece, worker) -> {
        int k = matrix(piece);
        Floats xs = (Floats) x.get(k);
        int from = (piece - first[k]) * rows(xs), rows = Math.min(rows(xs), xs.rows() - from);
        long at = xs.at() + 4L * from * xs.cols();
        Lanes.scale((float) factors[k], at, at, rows * xs.cols());
    };

    Equalizer(Pool pool) {
        this.pool = pool;
    }

    void run(List<Tensor> x, double beta, double epsilon, double[] norm, List<Tensor> v) {
        this.x = x;
        this.v = v;
        this.beta = (float) beta;
        this.fresh = (float) (1 - beta);
        this.exactBeta = beta;
        this.epsilon = epsilon;
        if (factors.length < x.size()) {
            factors = new double[x.size()];
            first = new int[x.size()];
        }
        int pieces = 0;
        for (int k = 0; k < x.size(); k++) {
            first[k] = pieces;
            pieces += (x.get(k).rows() + rows(x.get(k)) - 1) / rows(x.get(k));
        }
        if (sums.length < 2 * pieces) {
            sums = new double[2 * pieces];
        }
        pool.run(divide, pieces);
        for (int k = 0; k < x.size(); k++) {
            double own = 0, divided = 0;
            for (int piece = first[k]; piece < (k + 1 < x.size() ? first[k + 1] : pieces); piece++) {
                own += sums[2 * piece];
                divided += sums[2 * piece + 1];
            }
            factors[k] = (norm == null ? Math.sqrt(own) : norm[k]) / (Math.sqrt(divided) + epsilon);
        }
        pool.run(scale, pieces);
    }

    /** One number of v for a whole row. */
    private void row(long x, long v, int n, int to) {
        double squares = Sums.squares(x, n), mean = exactBeta * Lanes.get(v) + (1 - exactBeta) * squares / n;
        Lanes.put(v, (float) mean);
        float factor = (float) (1 / (Math.sqrt(mean) + epsilon));
        Lanes.scale(factor, x, x, n);
        sums[to] += squares;
        sums[to + 1] += squares * factor * factor;
    }

    /** A number of v for each of x. */
    private static void numbers(long x, long v, float beta, float fresh, float epsilon, int n) {
        long dv = v - x, whole = Lanes.whole(x, n), end = Lanes.end(x, n);
        FloatVector betas = Lanes.all(beta);
        for (; x < whole; x += Lanes.STEP) {
            FloatVector number = Lanes.load(x);
            FloatVector mean = Lanes.load(x + dv).fma(betas, number.mul(number).mul(fresh));
            Lanes.store(mean, x + dv);
            Lanes.store(number.div(mean.sqrt().add(epsilon)), x);
        }
        for (; x < end; x += 4) {
            float number = Lanes.get(x), mean = Lanes.get(x + dv) * beta + number * number * fresh;
            Lanes.put(x + dv, mean);
            Lanes.put(x, number / ((float) Math.sqrt(mean) + epsilon));
        }
    }

    private static int rows(Tensor matrix) {
        return Math.max(1, CHUNK / matrix.cols());
    }

    /** The last matrix that starts at or before a piece. */
    private int matrix(int piece) {
        int k = x.size() - 1;
        while (first[k] > piece) {
            k--;
        }
        return k;
    }
}
