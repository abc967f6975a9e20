package hypertransfer.engine.cpu;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Layers.HeadRule;
import hypertransfer.engine.Role;
import hypertransfer.engine.cpu.memory.Floats;
import hypertransfer.engine.cpu.memory.Storage;
import hypertransfer.engine.cpu.vector.Lanes;
import jdk.incubator.vector.FloatVector;

/**
 * The norm of each head and the rotary embedding of queries and keys, in one pass; and back.
 *
 * @param cos (T, D/2), as sin
 */
record Heads(Pool pool, Dims dims, Floats cos, Floats sin) {
    Heads(Pool pool, Dims dims, Storage storage) {
        Floats cos = storage.declare(Role.SCRATCH, "heads.cos", dims.T(), dims.D() / 2);
        this(pool, dims, cos, storage.declare(Role.SCRATCH, "heads.sin", dims.T(), dims.D() / 2));
    }

    /** Fills the tables of angles, once there is memory for them. */
    void commit() {
        int half = dims.D() / 2;
        for (int t = 0; t < dims.T(); t++) {
            for (int i = 0; i < half; i++) {
                double angle = t * Math.pow(10000, -(double) i / half);
                Lanes.put(cos.at() + 4L * (t * half + i), (float) Math.cos(angle));
                Lanes.put(sin.at() + 4L * (t * half + i), (float) Math.sin(angle));
            }
        }
    }

    void forward(long qkv, long r, HeadRule rule) {
        int D = dims.D(), Q = dims.Q(), turned = dims.H() + dims.G(), heads = rule.normV() ? Q : turned;
        pool.each(dims.N(), n -> {
            long turn = 4L * (n % dims.T()) * (D / 2);
            for (int head = 0; head < heads; head++) { // queries, then keys, then values: they lie one after the other
                long at = qkv + 4L * ((long) n * Q + head) * D;
                boolean normed = head >= turned || rule.normQK();
                float rn = normed ? Norms.factor(at, D, r + 4L * ((long) n * Q + head)) : 1;
                if (head < turned && rule.rotary()) {
                    rotate(at, D / 2, rn, cos.at() + turn, sin.at() + turn, rn);
                } else if (normed) {
                    Lanes.scale(rn, at, at, D);
                }
            }
        });
    }

    void backward(long dqkv, long qkv, long r, HeadRule rule) {
        int D = dims.D(), Q = dims.Q(), turned = dims.H() + dims.G(), heads = rule.normV() ? Q : turned;
        pool.each(dims.N(), n -> {
            long turn = 4L * (n % dims.T()) * (D / 2);
            for (int head = 0; head < heads; head++) {
                long offset = 4L * ((long) n * Q + head) * D, at = dqkv + offset, xhat = qkv + offset;
                if (head >= turned || rule.normQK()) {
                    float rn = Lanes.get(r + 4L * ((long) n * Q + head)), mean = Lanes.dot(at, xhat, D) / D;
                    NormGradients.through(at, xhat, rn, -rn * mean, at, D);
                }
                if (head < turned && rule.rotary()) {
                    rotate(at, D / 2, 1, cos.at() + turn, sin.at() + turn, -1);
                }
            }
        });
    }

    /** (x1, x2) -> r (x1 cos + x2 sin, x2 cos - x1 sin) over the two halves; signed is r, or -r to turn back. */
    private static void rotate(long x, int half, float r, long cos, long sin, float signed) {
        long second = 4L * half, dc = cos - x, ds = sin - x, whole = Lanes.whole(x, half), end = Lanes.end(x, half);
        for (; x < whole; x += Lanes.STEP) {
            FloatVector x1 = Lanes.load(x), x2 = Lanes.load(x + second);
            FloatVector c = Lanes.load(x + dc).mul(r), s = Lanes.load(x + ds);
            Lanes.store(x1.fma(c, x2.mul(s.mul(signed))), x);
            Lanes.store(x2.fma(c, x1.mul(s.mul(-signed))), x + second);
        }
        for (; x < end; x += 4) {
            float x1 = Lanes.get(x), x2 = Lanes.get(x + second);
            float c = r * Lanes.get(x + dc), s = signed * Lanes.get(x + ds);
            Lanes.put(x, x1 * c + x2 * s);
            Lanes.put(x + second, x2 * c - x1 * s);
        }
    }
}
