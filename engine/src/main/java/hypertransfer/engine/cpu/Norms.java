package hypertransfer.engine.cpu;

import static hypertransfer.engine.cpu.memory.Floats.at;

import hypertransfer.engine.Layers.Norm;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.cpu.vector.Lanes;
import jdk.incubator.vector.FloatVector;

/** The norms of rows, by themselves and where one sublayer ends and the next begins, forward. */
final class Norms {
    private Norms() {}

    static void norm(Pool pool, Tensor x, Norm norm, Tensor y) {
        int cols = x.cols();
        long from = at(x), to = at(y), gain = at(norm.gain()), r = at(norm.r());
        pool.each(x.rows(), n -> {
            long row = from + 4L * n * cols;
            if (norm.center()) {
                layer(row, gain, to + 4L * n * cols, r + 4L * n, cols);
            } else {
                gained(row, factor(row, cols, r + 4L * n), gain, to + 4L * n * cols, cols);
            }
        });
    }

    /** sum = h + post(z), y = norm(sum). Without zr post is the identity. */
    static void residual(Pool pool, Tensor h, Tensor z, Tensor zr, Tensor sum, Norm norm, Tensor y) {
        int cols = sum.cols();
        long one = at(h), other = at(z), posts = at(zr), out = at(sum), to = at(y);
        long gain = at(norm.gain()), r = at(norm.r());
        pool.each(sum.rows(), n -> {
            long row = 4L * n * cols;
            float post = zr == null ? 1 : factor(other + row, cols, posts + 4L * n);
            float squares = residual(one + row, other + row, post, out + row, cols);
            if (norm.center()) {
                layer(out + row, gain, to + row, r + 4L * n, cols);
            } else {
                float rn = Lanes.rms(squares, cols);
                Lanes.put(r + 4L * n, rn);
                gained(out + row, rn, gain, to + row, cols);
            }
        });
    }

    /** The norm of a row with its mean taken away, by way of y. */
    private static void layer(long x, long gain, long y, long r, int cols) {
        Lanes.copy(x, y, 4L * cols);
        Lanes.center(y, cols);
        gained(y, factor(y, cols, r), gain, y, cols);
    }

    /** A row's factor, which the backward pass will want. */
    static float factor(long x, int n, long kept) {
        float r = Lanes.rms(Lanes.dot(x, x, n), n);
        Lanes.put(kept, r);
        return r;
    }

    /** out = h + post z; returns the sum of its squares, which two sums take in turn: each waits for its own last one only. */
    private static float residual(long h, long z, float post, long out, int n) {
        FloatVector s0 = Lanes.zero(), s1 = Lanes.zero();
        long dz = z - h, dout = out - h, whole = Lanes.whole(h, n), end = Lanes.end(h, n);
        FloatVector posts = Lanes.all(post);
        for (; h < whole; h += Lanes.STEP) {
            FloatVector v = Lanes.load(h + dz).fma(posts, Lanes.load(h)), more = v.fma(v, s0);
            Lanes.store(v, h + dout);
            s0 = s1;
            s1 = more;
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
