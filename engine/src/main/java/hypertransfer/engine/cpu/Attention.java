package hypertransfer.engine.cpu;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Role;
import hypertransfer.engine.cpu.product.Blas;
import hypertransfer.engine.cpu.thread.Chunks;
import hypertransfer.engine.cpu.thread.Pool;
import hypertransfer.engine.cpu.thread.Task;
import hypertransfer.engine.cpu.vector.Exp;
import hypertransfer.engine.cpu.vector.Lanes;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;

/**
 * Causal attention, one head of one sequence per piece. A strip of queries meets the keys up to its last one, in a scratch
 * that stays in the cache; what lies right of the strip is never computed, and no T x T matrix exists.
 */
final class Attention {
    /** Queries in a strip: few waste little above the diagonal, many make better products. */
    private static final int STRIP = 32;

    private final Pool pool;
    private final Dims dims;
    private final int width; // of a strip's rows: T in whole pairs of the widest vectors
    private final Floats strips; // (workers, 2, STRIP, width)
    private final Floats means; // (N, H)
    private final float scale;
    private final Task forward = this::forward;
    private final Task backward = this::backward;
    private final Task toMeans = this::means;
    private long qkv, o, lse, dO, dqkv;

    Attention(Pool pool, Dims dims, Blocks blocks) {
        this.pool = pool;
        this.dims = dims;
        width = (dims.T() + 31) / 32 * 32;
        strips = blocks.declare(Role.SCRATCH, "attention.strips", pool.size() * 2 * STRIP, width);
        means = blocks.declare(Role.SCRATCH, "attention.means", dims.N(), dims.H());
        scale = (float) (1 / Math.sqrt(dims.D()));
    }

    void forward(long qkv, long o, long lse) {
        this.qkv = qkv;
        this.o = o;
        this.lse = lse;
        pool.run(forward, dims.B() * dims.H());
    }

    void backward(long qkv, long o, long lse, long dO, long dqkv) {
        this.qkv = qkv;
        this.o = o;
        this.lse = lse;
        this.dO = dO;
        this.dqkv = dqkv;
        pool.run(toMeans, Chunks.count(dims.N()));
        pool.run(backward, dims.B() * dims.H());
    }

    private void forward(int piece, int worker) {
        for (int i = 0; i < dims.T(); i += STRIP) {
            forward(
                    (long) piece / dims.H() * dims.T(),
                    piece % dims.H(),
                    i,
                    Math.min(STRIP, dims.T() - i),
                    strip(worker));
        }
    }

    /** The sum of p dp over a row, which is that of do o over the head. Apart, to keep the next method compilable. */
    private void means(int piece, int worker) {
        int rows = Chunks.rows(dims.N()), from = piece * rows, to = Math.min(dims.N(), from + rows);
        for (int i = from * dims.H(); i < to * dims.H(); i++) {
            long head = 4L * i * dims.D();
            Lanes.put(means.at() + 4L * i, Lanes.dot(dO + head, o + head, dims.D()));
        }
    }

    /** From the last strip, whose keys are all keys, so that it starts the sums. */
    private void backward(int piece, int worker) {
        int last = (dims.T() - 1) / STRIP * STRIP;
        for (int i = last; i >= 0; i -= STRIP) {
            long first = (long) piece / dims.H() * dims.T(), p = strip(worker), dp = p + 4L * STRIP * width;
            backward(first, piece % dims.H(), i, Math.min(STRIP, dims.T() - i), i == last ? 0 : 1, p, dp);
        }
    }

    private long strip(int worker) {
        return strips.at() + 8L * worker * STRIP * width;
    }

    private void forward(long first, int h, int i, int rows, long p) {
        int C = dims.C(), D = dims.D(), keys = i + rows;
        long q = part(qkv, first + i, 0, h), k = part(qkv, first, 1, h), v = part(qkv, first, 2, h);
        long to = o + 4L * ((first + i) * C + (long) h * D), kept = lse + 4L * ((first + i) * dims.H() + h);
        Blas.gemm(Blas.N, Blas.T, rows, keys, D, scale, q, 3 * C, k, 3 * C, 0, p, width);
        for (int row = 0; row < rows; row++) {
            int seen = i + row + 1;
            long at = p + 4L * row * width;
            blind(at, seen, keys, -Float.MAX_VALUE);
            float max = max(at, pairs(seen) * 2);
            float sum = Exp.shifted(at, pairs(seen), max);
            Lanes.put(kept + 4L * row * dims.H(), (float) (max + Math.log(sum)));
            Lanes.scale(1 / sum, at, at, seen);
            blind(at, seen, keys, 0);
        }
        Blas.gemm(Blas.N, Blas.N, rows, D, keys, 1, p, width, v, 3 * C, 0, to, C);
    }

    private void backward(long first, int h, int i, int rows, float beta, long p, long dp) {
        int C = dims.C(), D = dims.D(), keys = i + rows;
        long q = part(qkv, first + i, 0, h), k = part(qkv, first, 1, h), v = part(qkv, first, 2, h);
        long dq = part(dqkv, first + i, 0, h), dk = part(dqkv, first, 1, h), dv = part(dqkv, first, 2, h);
        long head = 4L * ((first + i) * C + (long) h * D), kept = lse + 4L * ((first + i) * dims.H() + h);
        Blas.gemm(Blas.N, Blas.T, rows, keys, D, scale, q, 3 * C, k, 3 * C, 0, p, width);
        Blas.gemm(Blas.N, Blas.T, rows, keys, D, 1, dO + head, C, v, 3 * C, 0, dp, width);
        for (int row = 0; row < rows; row++) {
            int seen = i + row + 1;
            long at = p + 4L * row * width, d = dp + 4L * row * width;
            blind(at, seen, keys, -Float.MAX_VALUE);
            float mean = Lanes.get(means.at() + 4L * ((first + i + row) * dims.H() + h));
            Exp.shifted(at, pairs(seen), Lanes.get(kept + 4L * row * dims.H()));
            blind(at, seen, keys, 0);
            slopes(at, d, pairs(seen) * 2, mean, scale);
            blind(d, seen, keys, 0);
        }
        Blas.gemm(Blas.T, Blas.N, keys, D, rows, 1, p, width, dO + head, C, beta, dv, 3 * C);
        Blas.gemm(Blas.N, Blas.N, rows, D, keys, 1, dp, width, k, 3 * C, 0, dq, 3 * C);
        Blas.gemm(Blas.T, Blas.N, keys, D, rows, 1, dp, width, q, 3 * C, beta, dk, 3 * C);
    }

    /** Where token n's query (0), key (1) or value (2) of head h starts. */
    private long part(long x, long n, int part, int h) {
        return x + 4L * ((3 * n + part) * dims.C() + (long) h * dims.D());
    }

    /** In how many pairs of vectors the keys lie that a query sees. */
    private static int pairs(int seen) {
        return (seen + 2 * Lanes.W - 1) / (2 * Lanes.W);
    }

    /** Blanks the keys that a query must not see, to the end of the strip or of a pair of vectors. */
    private static void blind(long row, int seen, int keys, float blank) {
        for (int j = seen; j < Math.max(keys, pairs(seen) * 2 * Lanes.W); j++) {
            Lanes.put(row + 4L * j, blank);
        }
    }

    static float max(long at, int vectors) {
        FloatVector max = Lanes.all(-Float.MAX_VALUE);
        for (long end = at + (long) vectors * Lanes.STEP; at < end; at += Lanes.STEP) {
            max = max.max(Lanes.load(at));
        }
        return max.reduceLanes(VectorOperators.MAX);
    }

    /** dp = scale p (dp - mean) in place. */
    private static void slopes(long p, long dp, int vectors, float mean, float scale) {
        for (long end = p + (long) vectors * Lanes.STEP; p < end; p += Lanes.STEP, dp += Lanes.STEP) {
            Lanes.store(Lanes.load(dp).sub(mean).mul(Lanes.load(p).mul(scale)), dp);
        }
    }
}
