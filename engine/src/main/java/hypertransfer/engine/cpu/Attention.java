package hypertransfer.engine.cpu;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Role;
import hypertransfer.engine.cpu.memory.Floats;
import hypertransfer.engine.cpu.memory.Storage;
import hypertransfer.engine.cpu.product.Blas;
import hypertransfer.engine.cpu.vector.Exp;
import hypertransfer.engine.cpu.vector.Lanes;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;

/**
 * Causal attention, one head of one sequence per piece; backward one head of keys and values, with all queries it serves. A strip of queries meets the keys up to its last one, in a scratch
 * that stays in the cache; what lies right of the strip or left of its window is never computed, and no T x T matrix exists.
 */
final class Attention {
    /** Queries in a strip: few waste little above the diagonal, many make better products. */
    private static final int STRIP = 32;

    private final Pool pool;
    private final Dims dims;
    private final int row; // numbers of qkv per token
    private final int share; // heads of queries for each of keys and values
    private final int width; // of a strip's rows: T in whole pairs of the widest vectors
    private final Floats strips; // (workers, 2, STRIP, width)
    private final Floats means; // (N, H)
    private final float scale;
    private long qkv, o, lse, dO, dqkv;

    Attention(Pool pool, Dims dims, Storage storage) {
        this.pool = pool;
        this.dims = dims;
        row = dims.Q() * dims.D();
        share = dims.H() / dims.G();
        width = (dims.T() + 31) / 32 * 32;
        strips = storage.declare(Role.SCRATCH, "attention.strips", pool.size() * 2 * STRIP, width);
        means = storage.declare(Role.SCRATCH, "attention.means", dims.N(), dims.H());
        scale = (float) (1 / Math.sqrt(dims.D()));
    }

    void forward(long qkv, long o, long lse) {
        this.qkv = qkv;
        this.o = o;
        this.lse = lse;
        pool.run(dims.B() * dims.H(), this::forward);
    }

    void backward(long qkv, long o, long lse, long dO, long dqkv) {
        this.qkv = qkv;
        this.o = o;
        this.lse = lse;
        this.dO = dO;
        this.dqkv = dqkv;
        pool.each(dims.N(), this::means);
        pool.run(dims.B() * dims.G(), this::backward);
    }

    private void forward(int piece, int worker) {
        long sequence = (long) piece / dims.H() * dims.T(), p = strip(worker);
        for (int i = 0; i < dims.T(); i += STRIP) {
            forward(sequence, piece % dims.H(), i, Math.min(STRIP, dims.T() - i), p);
        }
    }

    /** The sum of p dp over a row, which is that of do o over the head. Apart, to keep the next method compilable. */
    private void means(int n) {
        for (int i = n * dims.H(); i < (n + 1) * dims.H(); i++) {
            long head = 4L * i * dims.D();
            Lanes.put(means.at() + 4L * i, Lanes.dot(dO + head, o + head, dims.D()));
        }
    }

    /** From the last strip, which starts the sums of all keys, unless a window hides some from it. */
    private void backward(int piece, int worker) {
        int last = (dims.T() - 1) / STRIP * STRIP, shared = piece % dims.G();
        long sequence = (long) piece / dims.G() * dims.T(), p = strip(worker), dp = p + 4L * STRIP * width;
        boolean started = first(last) > 0;
        for (int t = 0; started && t < dims.T(); t++) {
            Lanes.fill(0, part(dqkv, sequence + t, 1, shared * share), dims.D());
            Lanes.fill(0, part(dqkv, sequence + t, 2, shared * share), dims.D());
        }
        for (int h = shared * share; h < (shared + 1) * share; h++) {
            for (int i = last; i >= 0; i -= STRIP) {
                backward(sequence, h, i, Math.min(STRIP, dims.T() - i), started ? 1 : 0, p, dp);
                started = true;
            }
        }
    }

    /** The first key that a strip from query i on sees. */
    private int first(int i) {
        return Math.max(0, i - dims.W() + 1);
    }

    private long strip(int worker) {
        return strips.at() + 8L * worker * STRIP * width;
    }

    private void forward(long sequence, int h, int i, int rows, long p) {
        int first = first(i), keys = i + rows - first;
        long kept = kept(sequence + i, h);
        scores(sequence, h, i, rows, p);
        for (int line = 0; line < rows; line++) {
            int seen = i + line + 1 - first;
            long at = p + 4L * line * width;
            blind(at, seen, keys, -Float.MAX_VALUE);
            passed(at, seen, -Float.MAX_VALUE);
            float max = max(at, pairs(seen) * 2);
            float sum = Exp.shifted(at, pairs(seen), max);
            Lanes.put(kept + 4L * line * dims.H(), (float) (max + Math.log(sum)));
            Lanes.scale(1 / sum, at, at, seen);
            blind(at, seen, keys, 0);
            passed(at, seen, 0);
        }
        output(sequence, h, i, rows, p);
    }

    private void backward(long sequence, int h, int i, int rows, float beta, long p, long dp) {
        int first = first(i), keys = i + rows - first;
        long kept = kept(sequence + i, h);
        scores(sequence, h, i, rows, p);
        slopes(sequence, h, i, rows, dp);
        for (int line = 0; line < rows; line++) {
            int seen = i + line + 1 - first;
            long at = p + 4L * line * width, d = dp + 4L * line * width;
            blind(at, seen, keys, -Float.MAX_VALUE);
            passed(at, seen, -Float.MAX_VALUE);
            float mean = Lanes.get(means.at() + 4L * ((sequence + i + line) * dims.H() + h));
            Exp.shifted(at, pairs(seen), Lanes.get(kept + 4L * line * dims.H()));
            blind(at, seen, keys, 0);
            passed(at, seen, 0);
            slopes(at, d, pairs(seen) * 2, mean, scale);
            blind(d, seen, keys, 0);
        }
        gradients(sequence, h, i, rows, beta, p, dp);
    }

    /** p = scale q k^T. */
    private void scores(long sequence, int h, int i, int rows, long p) {
        int D = dims.D(), first = first(i);
        long q = part(qkv, sequence + i, 0, h), k = part(qkv, sequence + first, 1, h);
        Blas.gemm(Blas.N, Blas.T, rows, i + rows - first, D, scale, q, row, k, row, 0, p, width);
    }

    /** o = p v. */
    private void output(long sequence, int h, int i, int rows, long p) {
        int C = dims.C(), D = dims.D(), first = first(i);
        long v = part(qkv, sequence + first, 2, h), to = o + 4L * ((sequence + i) * C + (long) h * D);
        Blas.gemm(Blas.N, Blas.N, rows, D, i + rows - first, 1, p, width, v, row, 0, to, C);
    }

    /** dp = do v^T. */
    private void slopes(long sequence, int h, int i, int rows, long dp) {
        int C = dims.C(), D = dims.D(), first = first(i);
        long v = part(qkv, sequence + first, 2, h), d = dO + 4L * ((sequence + i) * C + (long) h * D);
        Blas.gemm(Blas.N, Blas.T, rows, i + rows - first, D, 1, d, C, v, row, 0, dp, width);
    }

    /** dv (+)= p^T do, dq = dp k, dk (+)= dp^T q. */
    private void gradients(long sequence, int h, int i, int rows, float beta, long p, long dp) {
        int C = dims.C(), D = dims.D(), first = first(i), keys = i + rows - first;
        long q = part(qkv, sequence + i, 0, h), dq = part(dqkv, sequence + i, 0, h);
        long k = part(qkv, sequence + first, 1, h), dk = part(dqkv, sequence + first, 1, h);
        long dv = part(dqkv, sequence + first, 2, h), d = dO + 4L * ((sequence + i) * C + (long) h * D);
        Blas.gemm(Blas.T, Blas.N, keys, D, rows, 1, p, width, d, C, beta, dv, row);
        Blas.gemm(Blas.N, Blas.N, rows, D, keys, 1, dp, width, k, row, 0, dq, row);
        Blas.gemm(Blas.T, Blas.N, keys, D, rows, 1, dp, width, q, row, beta, dk, row);
    }

    /** Where the logarithm of the sum of token n and head h is kept. */
    private long kept(long n, int h) {
        return lse + 4L * (n * dims.H() + h);
    }

    /** Where the query (0), key (1) or value (2) of token n that head h works with starts. */
    private long part(long x, long n, int part, int h) {
        int head = part == 0 ? h : dims.H() + (part - 1) * dims.G() + h / share;
        return x + 4L * (n * row + (long) head * dims.D());
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

    /** Blanks the keys that have left a query's window. */
    private void passed(long row, int seen, float blank) {
        for (int j = 0; j < seen - dims.W(); j++) {
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
