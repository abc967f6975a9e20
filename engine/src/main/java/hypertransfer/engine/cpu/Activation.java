package hypertransfer.engine.cpu;

import hypertransfer.engine.cpu.thread.Chunks;
import hypertransfer.engine.cpu.thread.Pool;
import hypertransfer.engine.cpu.thread.Task;
import hypertransfer.engine.cpu.vector.Lanes;
import jdk.incubator.vector.FloatVector;

/** relu(post(f))^2, forward and backward. */
final class Activation {
    private final Pool pool;
    private final Task forward = this::forward;
    private final Task backward = this::backward;
    private int rows, cols;
    private long f, fr, s;

    Activation(Pool pool) {
        this.pool = pool;
    }

    /** fr = 0: post is the identity. */
    void forward(int rows, int cols, long f, long fr, long s) {
        run(forward, rows, cols, f, fr, s);
    }

    void backward(int rows, int cols, long f, long fr, long ds) {
        run(backward, rows, cols, f, fr, ds);
    }

    private void run(Task task, int rows, int cols, long f, long fr, long s) {
        this.rows = rows;
        this.cols = cols;
        this.f = f;
        this.fr = fr;
        this.s = s;
        pool.run(task, Chunks.count(rows));
    }

    private void forward(int piece, int worker) {
        int from = piece * Chunks.rows(rows), to = Math.min(rows, from + Chunks.rows(rows));
        for (int n = from; n < to; n++) {
            long row = 4L * n * cols;
            float post = fr == 0 ? 1 : Norms.factor(f + row, cols, fr + 4L * n);
            square(f + row, post, s + row, cols);
        }
    }

    private void backward(int piece, int worker) {
        int from = piece * Chunks.rows(rows), to = Math.min(rows, from + Chunks.rows(rows));
        for (int n = from; n < to; n++) {
            long row = 4L * n * cols;
            float post = fr == 0 ? 1 : Lanes.get(fr + 4L * n);
            float along = slope(f + row, post, s + row, cols);
            if (fr != 0) {
                NormGradients.throughPost(s + row, f + row, post, along * post / cols, s + row, cols);
            }
        }
    }

    /** s = relu(f r)^2. */
    private static void square(long f, float r, long s, int n) {
        long ds = s - f, whole = Lanes.whole(f, n), end = Lanes.end(f, n);
        for (; f < whole; f += Lanes.STEP) {
            FloatVector relu = Lanes.load(f).mul(r).max(0f);
            Lanes.store(relu.mul(relu), f + ds);
        }
        for (; f < end; f += 4) {
            float relu = Math.max(0, Lanes.get(f) * r);
            Lanes.put(f + ds, relu * relu);
        }
    }

    /** d = 2 d relu(f r); returns the sum of d f. */
    private static float slope(long f, float r, long d, int n) {
        FloatVector sums = Lanes.zero();
        long dd = d - f, whole = Lanes.whole(f, n), end = Lanes.end(f, n);
        for (; f < whole; f += Lanes.STEP) {
            FloatVector v = Lanes.load(f);
            FloatVector g = v.mul(2 * r).max(0f).mul(Lanes.load(f + dd));
            Lanes.store(g, f + dd);
            sums = g.fma(v, sums);
        }
        float sum = Lanes.sum(sums);
        for (; f < end; f += 4) {
            float g = Math.max(0, 2 * r * Lanes.get(f)) * Lanes.get(f + dd);
            Lanes.put(f + dd, g);
            sum += g * Lanes.get(f);
        }
        return sum;
    }
}
