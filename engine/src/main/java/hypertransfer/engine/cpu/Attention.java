package hypertransfer.engine.cpu;

import hypertransfer.engine.Dims;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;

/**
 * Causal attention, a head of a sequence a piece. A strip of queries meets the keys up to its last one, in a scratch
 * that stays in the cache; what lies right of the strip is never computed, and no T x T matrix exists.
 */
final class Attention implements Task {
    /** Queries in a strip: few waste little above the diagonal, many make better products. */
    private static final int STRIP = 32;

    private final Pool pool;
    private final Dims dims;
    private final int width; // of a strip's rows: T in whole vectors
    private final long strips; // (workers, 2, STRIP, width)
    private final float scale;
    private boolean backward;
    private long qkv, o, lse, dO, dqkv;

    Attention(Pool pool, Dims dims, long strips) {
        this.pool = pool;
        this.dims = dims;
        this.strips = strips;
        width = width(dims);
        scale = (float) (1 / Math.sqrt(dims.D()));
    }

    static long scratch(Dims dims, int workers) {
        return 2L * workers * STRIP * width(dims);
    }

    private static int width(Dims dims) {
        return (dims.T() + 15) / 16 * 16;
    }

    void forward(long qkv, long o, long lse) {
        this.backward = false;
        this.qkv = qkv;
        this.o = o;
        this.lse = lse;
        pool.run(this, dims.B() * dims.H());
    }

    void backward(long qkv, long o, long lse, long dO, long dqkv) {
        this.backward = true;
        this.qkv = qkv;
        this.o = o;
        this.lse = lse;
        this.dO = dO;
        this.dqkv = dqkv;
        pool.run(this, dims.B() * dims.H());
    }

    @Override
    public void piece(int piece, int worker) {
        int b = piece / dims.H(), h = piece % dims.H();
        long first = (long) b * dims.T();
        long p = strips + 8L * worker * STRIP * width, dp = p + 4L * STRIP * width;
        int last = (dims.T() - 1) / STRIP * STRIP;
        for (int i = last; i >= 0; i -= STRIP) { // from the last, whose keys are all, so that it starts the sums
            int rows = Math.min(STRIP, dims.T() - i);
            if (backward) {
                backward(first, h, i, rows, i == last ? 0 : 1, p, dp);
            } else {
                forward(first, h, i, rows, p);
            }
        }
    }

    private void forward(long first, int h, int i, int rows, long p) {
        int C = dims.C(), D = dims.D(), keys = i + rows;
        long q = part(qkv, first + i, 0, h), k = part(qkv, first, 1, h), v = part(qkv, first, 2, h);
        long to = o + 4L * ((first + i) * C + (long) h * D), kept = lse + 4L * ((first + i) * dims.H() + h);
        Blas.gemm(Blas.N, Blas.T, rows, keys, D, scale, q, 3 * C, k, 3 * C, 0, p, width);
        for (int row = 0; row < rows; row++) {
            int seen = i + row + 1;
            long at = p + 4L * row * width;
            int vectors = blind(at, seen, keys, -Float.MAX_VALUE);
            float max = max(at, vectors);
            float sum = exponentials(at, vectors, max);
            Lanes.put(kept + 4L * row * dims.H(), (float) (max + Math.log(sum)));
            Lanes.scale(1 / sum, at, at, vectors * Lanes.W);
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
            long at = p + 4L * row * width, d = dp + 4L * row * width, values = head + 4L * row * C;
            int vectors = blind(at, seen, keys, -Float.MAX_VALUE);
            blind(d, seen, keys, 0);
            float mean = Lanes.dot(dO + values, o + values, D); // = the sum of p dp
            slopes(at, d, vectors, Lanes.get(kept + 4L * row * dims.H()), mean, scale);
        }
        Blas.gemm(Blas.T, Blas.N, keys, D, rows, 1, p, width, dO + head, C, beta, dv, 3 * C);
        Blas.gemm(Blas.N, Blas.N, rows, D, keys, 1, dp, width, k, 3 * C, 0, dq, 3 * C);
        Blas.gemm(Blas.T, Blas.N, keys, D, rows, 1, dp, width, q, 3 * C, beta, dk, 3 * C);
    }

    /** Where token n's query (0), key (1) or value (2) of head h starts. */
    private long part(long x, long n, int part, int h) {
        return x + 4L * ((3 * n + part) * dims.C() + (long) h * dims.D());
    }

    /** Blanks the keys that a query must not see, and returns in how many whole vectors the others lie. */
    private static int blind(long row, int seen, int keys, float blank) {
        int vectors = (seen + Lanes.W - 1) / Lanes.W;
        for (int j = seen; j < vectors * Lanes.W; j++) {
            Lanes.put(row + 4L * j, blank);
        }
        for (int j = vectors * Lanes.W; j < keys; j++) {
            Lanes.put(row + 4L * j, 0);
        }
        return vectors;
    }

    static float max(long at, int vectors) {
        FloatVector m0 = Lanes.all(-Float.MAX_VALUE), m1 = m0;
        int i = 0;
        for (; i <= vectors - 2; i += 2, at += 2L * Lanes.STEP) {
            m0 = m0.max(Lanes.load(at));
            m1 = m1.max(Lanes.load(at + Lanes.STEP));
        }
        for (; i < vectors; i++, at += Lanes.STEP) {
            m0 = m0.max(Lanes.load(at));
        }
        return m0.max(m1).reduceLanes(VectorOperators.MAX);
    }

    /** x = exp(x - max) in place; returns the sum. */
    static float exponentials(long at, int vectors, float max) {
        FloatVector s0 = Lanes.ZERO, s1 = Lanes.ZERO;
        int i = 0;
        for (; i <= vectors - 2; i += 2, at += 2L * Lanes.STEP) {
            FloatVector e0 = Exp.exp(Lanes.load(at).sub(max)),
                    e1 = Exp.exp(Lanes.load(at + Lanes.STEP).sub(max));
            Lanes.store(e0, at);
            Lanes.store(e1, at + Lanes.STEP);
            s0 = s0.add(e0);
            s1 = s1.add(e1);
        }
        for (; i < vectors; i++, at += Lanes.STEP) {
            FloatVector e = Exp.exp(Lanes.load(at).sub(max));
            Lanes.store(e, at);
            s0 = s0.add(e);
        }
        return Lanes.sum(s0.add(s1));
    }

    /** p = exp(p - lse) and dp = scale p (dp - mean), in place. */
    private static void slopes(long p, long dp, int vectors, float lse, float mean, float scale) {
        for (int i = 0; i < vectors; i++, p += Lanes.STEP, dp += Lanes.STEP) {
            FloatVector e = Exp.exp(Lanes.load(p).sub(lse));
            Lanes.store(e, p);
            Lanes.store(Lanes.load(dp).sub(mean).mul(e.mul(scale)), dp);
        }
    }
}
