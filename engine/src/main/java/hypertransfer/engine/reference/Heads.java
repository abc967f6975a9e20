package hypertransfer.engine.reference;

import hypertransfer.engine.Dims;

/** The norm of each head and the rotary embedding of queries and keys. */
final class Heads {
    private Heads() {}

    static void forward(Dims dims, Array qkv, Array r, boolean normV) {
        each(
                dims,
                normV,
                (n, part, h, at) -> {
                    double rn = Rows.rms(qkv.data(), at, dims.D());
                    r.data()[r.row(n) + part * dims.H() + h] = rn;
                    for (int i = 0; i < dims.D(); i++) {
                        qkv.data()[at + i] *= rn;
                    }
                    if (part < 2) {
                        rotate(dims, qkv.data(), at, n % dims.T(), 1);
                    }
                },
                qkv);
    }

    /** A rotation keeps inner products, so the norm's backward may run on the rotated vectors, and the turn back last. */
    static void backward(Dims dims, Array dqkv, Array qkv, Array r, boolean normV) {
        each(
                dims,
                normV,
                (n, part, h, at) -> {
                    double rn = r.data()[r.row(n) + part * dims.H() + h];
                    int d = at - qkv.row(n) + dqkv.row(n);
                    Rows.throughNorm(dqkv.data(), d, qkv.data(), at, rn, dims.D());
                    if (part < 2) {
                        rotate(dims, dqkv.data(), d, n % dims.T(), -1);
                    }
                },
                qkv);
    }

    private interface Head {
        void at(int n, int part, int h, int offset);
    }

    private static void each(Dims dims, boolean normV, Head head, Array qkv) {
        for (int n = 0; n < dims.N(); n++) {
            for (int part = 0; part < (normV ? 3 : 2); part++) {
                for (int h = 0; h < dims.H(); h++) {
                    head.at(n, part, h, qkv.row(n) + part * dims.C() + h * dims.D());
                }
            }
        }
    }

    /** (x1, x2) -> (x1 cos + x2 sin, x2 cos - x1 sin) over the two halves of the head; sign -1 turns back. */
    private static void rotate(Dims dims, double[] x, int at, int position, int sign) {
        int half = dims.D() / 2;
        for (int i = 0; i < half; i++) {
            double angle = position * Math.pow(10000, -(double) i / half);
            double cos = Math.cos(angle), sin = sign * Math.sin(angle);
            double x1 = x[at + i], x2 = x[at + half + i];
            x[at + i] = x1 * cos + x2 * sin;
            x[at + half + i] = x2 * cos - x1 * sin;
        }
    }
}
