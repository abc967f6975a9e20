package hypertransfer.engine.cpu;

import static hypertransfer.engine.cpu.memory.Floats.at;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Layers.Norm;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.cpu.memory.Floats;
import hypertransfer.engine.cpu.memory.Storage;
import hypertransfer.engine.cpu.vector.Lanes;
import jdk.incubator.vector.FloatVector;

/**
 * The norms of {@link Norms}, backward. The gain's gradient is summed chunk by chunk, then over the chunks in order.
 *
 * @param partial (chunks, C)
 * @param centered (workers, 2, C): a row without its mean, and the gradient there
 */
record NormGradients(Pool pool, Floats partial, Floats centered) {
    NormGradients(Pool pool, Dims dims, Storage storage) {
        Floats partial = storage.declare(Role.SCRATCH, "norms", Pool.chunks(dims.N()), dims.C());
        this(pool, partial, storage.declare(Role.SCRATCH, "norms.centered", 2 * pool.size(), dims.C()));
    }

    /**
     * dh = the gradient through y = norm(out), or with residual, dh += it; then, where there is a zr, dz = the gradient
     * through the post norm of z.
     */
    void run(boolean residual, Tensor dy, Tensor z, Tensor zr, Tensor out, Norm norm, Tensor dh, Tensor dz) {
        int rows = out.rows(), cols = out.cols(), chunk = Pool.chunk(rows);
        long d = at(dy), x = at(out), gain = at(norm.gain()), r = at(norm.r()), to = at(dh);
        long inner = at(z), posts = at(zr), toInner = at(dz);
        int chunks = Pool.chunks(rows);
        pool.run(chunks, (piece, worker) -> {
            long sums = partial.at() + 4L * piece * cols, free = centered.at() + 8L * worker * cols;
            Lanes.fill(0, sums, cols);
            for (int n = piece * chunk; n < Math.min(rows, (piece + 1) * chunk); n++) {
                long row = 4L * n * cols;
                float rn = Lanes.get(r + 4L * n), along;
                if (norm.center()) {
                    layer(d + row, x + row, gain, rn, sums, free, to + row, residual, cols);
                    along = zr == null ? 0 : Lanes.dot(to + row, inner + row, cols);
                } else {
                    float mean = toGain(d + row, x + row, gain, rn, sums, cols) * rn / cols;
                    long with = (zr == null ? x : inner) + row;
                    along = toRow(d + row, x + row, gain, rn, mean, to + row, residual, with, cols);
                }
                if (zr != null) {
                    float post = Lanes.get(posts + 4L * n);
                    throughPost(to + row, inner + row, post, along * post / cols, toInner + row, cols);
                }
            }
        });
        for (int piece = 0; piece < chunks; piece++) {
            Lanes.add(partial.at() + 4L * piece * cols, at(norm.dgain()), cols);
        }
    }

    /** A row where the norm takes its mean away: a symmetric projection, so the same is done to the gradient. */
    private static void layer(
            long dy, long out, long gain, float r, long sums, long free, long dh, boolean add, int cols) {
        long d = free + 4L * cols;
        Lanes.copy(out, free, 4L * cols);
        Lanes.center(free, cols);
        float mean = toGain(dy, free, gain, r, sums, cols) * r / cols;
        toRow(dy, free, gain, r, mean, d, false, free, cols);
        Lanes.center(d, cols);
        if (add) {
            Lanes.add(d, dh, cols);
        } else {
            Lanes.copy(d, dh, 4L * cols);
        }
    }

    /** dgain += dy x r; returns the sum of dy (1 + gain) x, which two sums take in turn as in {@link Norms}. */
    private static float toGain(long dy, long x, long gain, float r, long dgain, int n) {
        FloatVector s0 = Lanes.zero(), s1 = Lanes.zero();
        long dx = x - dy, dg = gain - dy, dd = dgain - dy, whole = Lanes.whole(dy, n), end = Lanes.end(dy, n);
        FloatVector rs = Lanes.all(r);
        for (; dy < whole; dy += Lanes.STEP) {
            FloatVector p = Lanes.load(dy).mul(Lanes.load(dy + dx));
            FloatVector more = p.fma(Lanes.load(dy + dg), p).add(s0);
            Lanes.store(p.fma(rs, Lanes.load(dy + dd)), dy + dd);
            s0 = s1;
            s1 = more;
        }
        float sum = Lanes.sum(s0.add(s1));
        for (; dy < end; dy += 4) {
            float p = Lanes.get(dy) * Lanes.get(dy + dx);
            Lanes.put(dy + dd, Lanes.get(dy + dd) + p * r);
            sum += p * (1 + Lanes.get(dy + dg));
        }
        return sum;
    }

    /** dh (+)= r (dy (1 + gain) - x r mean); returns the sum of dh z. */
    private static float toRow(long dy, long x, long gain, float r, float mean, long dh, boolean add, long z, int n) {
        FloatVector sums = Lanes.zero();
        long dx = x - dy, dg = gain - dy, dd = dh - dy, dz = z - dy;
        long whole = Lanes.whole(dy, n), end = Lanes.end(dy, n);
        float back = -r * r * mean;
        FloatVector rs = Lanes.all(r), backs = Lanes.all(back);
        for (; dy < whole; dy += Lanes.STEP) {
            FloatVector d = Lanes.load(dy);
            FloatVector v = Lanes.load(dy + dx).mul(backs);
            v = d.fma(Lanes.load(dy + dg), d).fma(rs, v);
            if (add) {
                v = v.add(Lanes.load(dy + dd));
            }
            Lanes.store(v, dy + dd);
            sums = v.fma(Lanes.load(dy + dz), sums);
        }
        float sum = Lanes.sum(sums);
        for (; dy < end; dy += 4) {
            float v = r * Lanes.get(dy) * (1 + Lanes.get(dy + dg)) + back * Lanes.get(dy + dx);
            if (add) {
                v += Lanes.get(dy + dd);
            }
            Lanes.put(dy + dd, v);
            sum += v * Lanes.get(dy + dz);
        }
        return sum;
    }

    /** to = r (d - x r mean): through a norm without gain. */
    static void throughPost(long d, long x, float r, float mean, long to, int n) {
        through(d, x, r, -r * r * mean, to, n);
    }

    /** to = r d + back x. */
    static void through(long d, long x, float r, float back, long to, int n) {
        long dx = x - d, dt = to - d, whole = Lanes.whole(d, n), end = Lanes.end(d, n);
        FloatVector rs = Lanes.all(r), backs = Lanes.all(back);
        for (; d < whole; d += Lanes.STEP) {
            Lanes.store(Lanes.load(d).fma(rs, Lanes.load(d + dx).mul(backs)), d + dt);
        }
        for (; d < end; d += 4) {
            Lanes.put(d + dt, r * Lanes.get(d) + back * Lanes.get(d + dx));
        }
    }
}
