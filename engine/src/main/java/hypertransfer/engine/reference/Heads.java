package hypertransfer.engine.reference;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Layers.HeadRule;

/** The norm of each head and the rotary embedding of queries and keys. */
final class Heads {
    private Heads() {}

    static void forward(Dims dims, Array qkv, Array r, HeadRule rule) {
        each(dims, (n, head, turned) -> {
            int at = qkv.row(n) + head * dims.D();
            if (turned ? rule.normQK() : rule.normV()) {
                double rn = Rows.rms(qkv.data(), at, dims.D());
                r.data()[r.row(n) + head] = rn;
                for (int i = 0; i < dims.D(); i++) {
                    qkv.data()[at + i] *= rn;
                }
            }
            if (turned && rule.rotary()) {
                rotate(dims, qkv.data(), at, n % dims.T(), 1);
            }
        });
    }

    /** A rotation keeps inner products, so the norm's backward may run on the rotated vectors, and the turn back last. */
    static void backward(Dims dims, Array dqkv, Array qkv, Array r, HeadRule rule) {
        each(dims, (n, head, turned) -> {
            int at = qkv.row(n) + head * dims.D(), d = dqkv.row(n) + head * dims.D();
            if (turned ? rule.normQK() : rule.normV()) {
                Rows.throughNorm(dqkv.data(), d, qkv.data(), at, r.data()[r.row(n) + head], dims.D());
            }
            if (turned && rule.rotary()) {
                rotate(dims, dqkv.data(), d, n % dims.T(), -1);
            }
        });
    }

    private interface Head {
        void at(int n, int head, boolean turned);
    }

    /** Queries and keys, which may be turned, then values. */
    private static void each(Dims dims, Head work) {
        for (int n = 0; n < dims.N(); n++) {
            for (int head = 0; head < dims.Q(); head++) {
                work.at(n, head, head < dims.H() + dims.G());
            }
        }
    }

    /** (x1, x2) -> (x1 cos + x2 sin, x2 cos - x1 sin) over the two halves of the head; sign -1 turns back. */
    private static void rotate(Dims dims, double[] x, int at, int position, int sign) {
        int half = dims.D() / 2;
        for (int i = 0; i < half; i++) {
            double angle = position * StrictMath.pow(10000, -(double) i / half);
            double cos = StrictMath.cos(angle), sin = sign * StrictMath.sin(angle);
            double x1 = x[at + i], x2 = x[at + half + i];
            x[at + i] = x1 * cos + x2 * sin;
            x[at + half + i] = x2 * cos - x1 * sin;
        }
    }
}
