package hypertransfer.engine.cpu;

import hypertransfer.engine.Dims;
import jdk.incubator.vector.FloatVector;

/** The norm of each head and the rotary embedding of queries and keys, in one pass; and back. */
final class Heads implements Task {
    private final Pool pool;
    private final Dims dims;
    private final long cos; // (T, D/2)
    private final long sin;
    private boolean backward, normV;
    private long d, qkv, r;

    Heads(Pool pool, Dims dims, long tables) {
        this.pool = pool;
        this.dims = dims;
        int half = dims.D() / 2;
        cos = tables;
        sin = tables + 4L * dims.T() * half;
        for (int t = 0; t < dims.T(); t++) {
            for (int i = 0; i < half; i++) {
                double angle = t * Math.pow(10000, -(double) i / half);
                Lanes.put(cos + 4L * (t * half + i), (float) Math.cos(angle));
                Lanes.put(sin + 4L * (t * half + i), (float) Math.sin(angle));
            }
        }
    }

    static long scratch(Dims dims) {
        return (long) dims.T() * dims.D();
    }

    void forward(long qkv, long r, boolean normV) {
        this.backward = false;
        this.qkv = qkv;
        this.r = r;
        this.normV = normV;
        pool.run(this, Chunks.count(dims.N()));
    }

    void backward(long dqkv, long qkv, long r, boolean normV) {
        this.backward = true;
        this.d = dqkv;
        this.qkv = qkv;
        this.r = r;
        this.normV = normV;
        pool.run(this, Chunks.count(dims.N()));
    }

    @Override
    public void piece(int piece, int worker) {
        int rows = Chunks.rows(dims.N()), from = piece * rows, to = Math.min(dims.N(), from + rows);
        int D = dims.D(), H = dims.H(), heads = normV ? 3 * H : 2 * H;
        for (int n = from; n < to; n++) {
            long turn = 4L * (n % dims.T()) * (D / 2);
            for (int head = 0; head < heads; head++) { // queries, then keys, then values: they lie one after the other
                long at = 4L * (3L * n * dims.C() + (long) head * D), kept = r + 4L * (3L * n * H + head);
                boolean rotary = head < 2 * H;
                if (backward) {
                    float rn = Lanes.get(kept);
                    float mean = Lanes.dot(d + at, qkv + at, D) / D;
                    NormGradients.throughPost(d + at, qkv + at, 1, mean, d + at, D); // what is kept is normed already
                    rotate(d + at, D / 2, rn, cos + turn, sin + turn, rotary ? -1 : 0);
                } else {
                    float rn = Lanes.rms(Lanes.dot(qkv + at, qkv + at, D), D);
                    Lanes.put(kept, rn);
                    rotate(qkv + at, D / 2, rn, cos + turn, sin + turn, rotary ? 1 : 0);
                }
            }
        }
    }

    /** (x1, x2) -> r (x1 cos + x2 sin, x2 cos - x1 sin) over the two halves; sign -1 turns back, 0 does not turn. */
    private static void rotate(long x, int half, float r, long cos, long sin, int sign) {
        if (sign == 0) {
            Lanes.scale(r, x, x, 2 * half);
            return;
        }
        long second = 4L * half, dc = cos - x, ds = sin - x, whole = Lanes.whole(x, half), end = Lanes.end(x, half);
        float signed = sign * r;
        for (; x < whole; x += Lanes.STEP) {
            FloatVector x1 = Lanes.load(x), x2 = Lanes.load(x + second);
            FloatVector c = Lanes.load(x + dc).mul(r), s = Lanes.load(x + ds).mul(signed);
            Lanes.store(x1.fma(c, x2.mul(s)), x);
            Lanes.store(x2.fma(c, x1.mul(s).neg()), x + second);
        }
        for (; x < end; x += 4) {
            float x1 = Lanes.get(x), x2 = Lanes.get(x + second);
            float c = r * Lanes.get(x + dc), s = signed * Lanes.get(x + ds);
            Lanes.put(x, x1 * c + x2 * s);
            Lanes.put(x + second, x2 * c - x1 * s);
        }
    }
}
