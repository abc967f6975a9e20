package hypertransfer.engine.cpu;

import hypertransfer.engine.Nonlinearity;
import hypertransfer.engine.cpu.thread.Chunks;
import hypertransfer.engine.cpu.thread.Pool;
import hypertransfer.engine.cpu.thread.Task;
import hypertransfer.engine.cpu.vector.Gelu;
import hypertransfer.engine.cpu.vector.Lanes;
import hypertransfer.engine.cpu.vector.Swiglu;
import jdk.incubator.vector.FloatVector;

/** What an MLP does between its matrices, forward and backward, after the post norms of its inputs. */
final class Activation {
    private final Pool pool;
    private final Task forward = this::forward;
    private final Task backward = this::backward;
    private Nonlinearity kind;
    private int rows, cols;
    private long f, fr, s, df;

    Activation(Pool pool) {
        this.pool = pool;
    }

    /** fr = 0: post is the identity. */
    void forward(Nonlinearity kind, int rows, int cols, long f, long fr, long s) {
        run(forward, kind, rows, cols, f, fr, s);
    }

    void backward(Nonlinearity kind, int rows, int cols, long f, long fr, long ds, long df) {
        this.df = df;
        run(backward, kind, rows, cols, f, fr, ds);
    }

    private void run(Task task, Nonlinearity kind, int rows, int cols, long f, long fr, long s) {
        this.kind = kind;
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
            long row = s + 4L * n * cols, x = input(f, n, 0), y = input(f, n, 1);
            float post = fr == 0 ? 1 : Norms.factor(x, cols, factor(n, 0));
            switch (kind) {
                case RELU_SQUARED -> square(x, post, row, cols);
                case GELU -> Gelu.forward(x, post, row, cols);
                case SWIGLU -> Swiglu.forward(x, post, y, fr == 0 ? 1 : Norms.factor(y, cols, factor(n, 1)), row, cols);
            }
        }
    }

    private void backward(int piece, int worker) {
        int from = piece * Chunks.rows(rows), to = Math.min(rows, from + Chunks.rows(rows));
        for (int n = from; n < to; n++) {
            long ds = s + 4L * n * cols, x = input(f, n, 0), dx = input(df, n, 0);
            float post = fr == 0 ? 1 : Lanes.get(factor(n, 0));
            switch (kind) {
                case RELU_SQUARED -> throughPost(n, 0, slope(x, post, ds, dx, cols));
                case GELU -> {
                    Gelu.backward(x, post, ds, dx, cols);
                    throughPost(n, 0, Lanes.dot(dx, x, cols));
                }
                case SWIGLU -> {
                    long y = input(f, n, 1), dy = input(df, n, 1);
                    float second = fr == 0 ? 1 : Lanes.get(factor(n, 1));
                    Swiglu.backward(x, post, y, second, ds, dx, cols);
                    throughPost(n, 0, Lanes.dot(dx, x, cols));
                    throughPost(n, 1, Lanes.dot(dy, y, cols));
                }
            }
        }
    }

    /** Where input i of row n starts. */
    private long input(long inputs, int n, int i) {
        return inputs + 4L * ((long) n * kind.inputs() + i) * cols;
    }

    private long factor(int n, int i) {
        return fr + 4L * ((long) n * kind.inputs() + i);
    }

    /** From the gradient behind an input's post norm to the one before it; along is their sum of products with it. */
    private void throughPost(int n, int i, float along) {
        if (fr != 0) {
            long d = input(df, n, i);
            float post = Lanes.get(factor(n, i));
            NormGradients.throughPost(d, input(f, n, i), post, along * post / cols, d, cols);
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

    /** to = 2 d relu(f r); returns the sum of to f. */
    private static float slope(long f, float r, long d, long to, int n) {
        FloatVector sums = Lanes.zero();
        long dd = d - f, dt = to - f, whole = Lanes.whole(f, n), end = Lanes.end(f, n);
        for (; f < whole; f += Lanes.STEP) {
            FloatVector v = Lanes.load(f);
            FloatVector g = v.mul(2 * r).max(0f).mul(Lanes.load(f + dd));
            Lanes.store(g, f + dt);
            sums = g.fma(v, sums);
        }
        float sum = Lanes.sum(sums);
        for (; f < end; f += 4) {
            float g = Math.max(0, 2 * r * Lanes.get(f)) * Lanes.get(f + dd);
            Lanes.put(f + dt, g);
            sum += g * Lanes.get(f);
        }
        return sum;
    }
}
