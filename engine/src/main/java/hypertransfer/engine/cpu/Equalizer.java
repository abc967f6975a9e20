package hypertransfer.engine.cpu;

import hypertransfer.engine.Tensor;
import hypertransfer.engine.cpu.Pool.Task;
import hypertransfer.engine.cpu.memory.Floats;
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

    private Equalizer() {}

    static void run(Pool pool, List<Tensor> x, double beta, double epsilon, double[] norm, List<Tensor> v) {
        int[] first = new int[x.size() + 1]; // the first piece of each matrix, and the end
        for (int k = 0; k < x.size(); k++) {
            first[k + 1] = first[k] + (x.get(k).rows() + rows(x.get(k)) - 1) / rows(x.get(k));
        }
        int pieces = first[x.size()];
        double[] sums = new double[2 * pieces]; // of each piece: x^2 and p^2
        double[] factors = new double[x.size()];
        Task divide = (piece, worker) -> {
            int k = matrix(first, piece);
            Floats xs = (Floats) x.get(k), vs = (Floats) v.get(k);
            int from = (piece - first[k]) * rows(xs), rows = Math.min(rows(xs), xs.rows() - from), n = xs.cols();
            long at = xs.at() + 4L * from * n, mean = vs.at() + 4L * from * vs.cols();
            if (vs.cols() == n) {
                sums[2 * piece] = Sums.squares(at, (long) rows * n);
                numbers(at, mean, (float) beta, (float) (1 - beta), (float) epsilon, rows * n);
                sums[2 * piece + 1] = Sums.squares(at, (long) rows * n);
                return;
            }
            for (int row = 0; row < rows; row++) {
                row(at + 4L * row * n, mean + 4L * row, n, beta, epsilon, sums, 2 * piece);
            }
        };
        Task scale = (piece, worker) -> {
            int k = matrix(first, piece);
            Floats xs = (Floats) x.get(k);
            int from = (piece - first[k]) * rows(xs), rows = Math.min(rows(xs), xs.rows() - from);
            long at = xs.at() + 4L * from * xs.cols();
            Lanes.scale((float) factors[k], at, at, rows * xs.cols());
        };
        pool.run(divide, pieces);
        for (int k = 0; k < x.size(); k++) {
            double own = 0, divided = 0;
            for (int piece = first[k]; piece < first[k + 1]; piece++) {
                own += sums[2 * piece];
                divided += sums[2 * piece + 1];
            }
            factors[k] = (norm == null ? Math.sqrt(own) : norm[k]) / (Math.sqrt(divided) + epsilon);
        }
        pool.run(scale, pieces);
    }

    /** One number of v for a whole row. */
    private static void row(long x, long v, int n, double beta, double epsilon, double[] sums, int to) {
        double squares = Sums.squares(x, n), mean = beta * Lanes.get(v) + (1 - beta) * squares / n;
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

    /** The matrix that a piece belongs to. */
    private static int matrix(int[] first, int piece) {
        int k = 0;
        while (first[k + 1] <= piece) {
            k++;
        }
        return k;
    }
}
