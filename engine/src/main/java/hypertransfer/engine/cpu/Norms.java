package hypertransfer.engine.cpu;

import static hypertransfer.engine.cpu.memory.Floats.at;

import hypertransfer.engine.Norm;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.cpu.thread.Chunks;
import hypertransfer.engine.cpu.thread.Pool;
import hypertransfer.engine.cpu.thread.Task;
import hypertransfer.engine.cpu.vector.Lanes;
import jdk.incubator.vector.FloatVector;

/** The norms of rows, by themselves and where one sublayer ends and the next begins, forward. */
final class Norms {
    private final Pool pool;
    private final Task plain = this::norm;
    private final Task residual = this::residual;
    private boolean center;
    private int rows, cols;
    private long h, z, zr, out, gain, y, r;

    Norms(Pool pool) {
        this.pool = pool;
    }

    /** y = norm(x). */
    void norm(Tensor x, Norm norm, Tensor y) {
        run(plain, x, norm, y);
    }

    /** out = h + post(z), y = norm(out). Without zr post is the identity. */
    void residual(Tensor h, Tensor z, Tensor zr, Tensor out, Norm norm, Tensor y) {
        this.h = at(h);
        this.z = at(z);
        this.zr = at(zr);
        run(residual, out, norm, y);
    }

    private void run(Task task, Tensor out, Norm norm, Tensor y) {
        rows = out.rows();
        cols = out.cols();
        this.out = at(out);
        center = norm.center();
        gain = at(norm.gain());
        r = at(norm.r());
        this.y = at(y);
        pool.run(task, Chunks.count(rows));
    }

    private void norm(int piece, int worker) {
        int from = piece * Chunks.rows(rows), to = Math.min(rows, from + Chunks.rows(rows));
        for (int n = from; n < to; n++) {
            long row = 4L * n * cols;
            if (center) {
                layer(n);
            } else {
                gained(out + row, factor(out + row, cols, r + 4L * n), gain, y + row, cols);
            }
        }
    }

    /** The norm of row n with its mean taken away, by way of y. */
    private void layer(int n) {
        long row = 4L * n * cols;
        Lanes.copy(out + row, y + row, 4L * cols);
        Lanes.center(y + row, cols);
        gained(y + row, factor(y + row, cols, r + 4L * n), gain, y + row, cols);
    }

    /** A row's factor, which the backward pass will want. */
    static float factor(long x, int n, long kept) {
        float r = Lanes.rms(Lanes.dot(x, x, n), n);
        Lanes.put(kept, r);
        return r;
    }

    private void residual(int piece, int worker) {
        int from = piece * Chunks.rows(rows), to = Math.min(rows, from + Chunks.rows(rows));
        for (int n = from; n < to; n++) {
            long row = 4L * n * cols;
            float post = zr == 0 ? 1 : factor(z + row, cols, zr + 4L * n);
            float squares = residual(h + row, z + row, post, out + row, cols);
            if (center) {
                layer(n);
            } else {
                float rn = Lanes.rms(squares, cols);
                Lanes.put(r + 4L * n, rn);
                gained(out + row, rn, gain, y + row, cols);
            }
        }
    }

    /** out = h + post z; returns the sum of its squares. */
    private static float residual(long h, long z, float post, long out, int n) {
        FloatVector s0 = Lanes.zero(), s1 = Lanes.zero();
        long dz = z - h, dout = out - h, whole = Lanes.whole(h, n), end = Lanes.end(h, n);
        FloatVector posts = Lanes.all(post);
        for (; h <= whole - 2L * Lanes.STEP; h += 2L * Lanes.STEP) {
            FloatVector v0 = Lanes.load(h + dz).fma(posts, Lanes.load(h));
            FloatVector v1 = Lanes.load(h + dz + Lanes.STEP).fma(posts, Lanes.load(h + Lanes.STEP));
            Lanes.store(v0, h + dout);
            Lanes.store(v1, h + dout + Lanes.STEP);
            s0 = v0.fma(v0, s0);
            s1 = v1.fma(v1, s1);
        }
        for (; h < whole; h += Lanes.STEP) {
            FloatVector v = Lanes.load(h + dz).fma(posts, Lanes.load(h));
            Lanes.store(v, h + dout);
            s0 = v.fma(v, s0);
        }
        float sum = Lanes.sum(s0.add(s1));
        for (; h < end; h += 4) {
            float v = Lanes.get(h) + post * Lanes.get(h + dz);
            Lanes.put(h + dout, v);
            sum += v * v;
        }
        return sum;
    }

    /** y = x r (1 + gain). */
    private static void gained(long x, float r, long gain, long y, int n) {
        long dg = gain - x, dy = y - x, whole = Lanes.whole(x, n), end = Lanes.end(x, n);
        for (; x < whole; x += Lanes.STEP) {
            FloatVector scaled = Lanes.load(x).mul(r);
            Lanes.store(scaled.fma(Lanes.load(x + dg), scaled), x + dy);
        }
        for (; x < end; x += 4) {
            Lanes.put(x + dy, Lanes.get(x) * r * (1 + Lanes.get(x + dg)));
        }
    }
}
