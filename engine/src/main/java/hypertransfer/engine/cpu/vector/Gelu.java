package hypertransfer.engine.cpu.vector;

import jdk.incubator.vector.FloatVector;

/** x sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3)), which is GELU with the hyperbolic tangent, over one row. */
public final class Gelu {
    private static final float A = (float) (2 * Math.sqrt(2 / Math.PI)), B = A * 0.044715f;

    private Gelu() {}

    /** s = gelu(f r). */
    public static void forward(long f, float r, long s, int n) {
        long ds = s - f, whole = Lanes.whole(f, n), end = Lanes.end(f, n);
        for (; f < whole; f += Lanes.STEP) {
            FloatVector x = Lanes.load(f).mul(r);
            FloatVector bent = x.mul(x.mul(x).mul(B).add(A));
            Lanes.store(x.mul(Exp.sigmoid(bent)), f + ds);
        }
        for (; f < end; f += 4) {
            float x = Lanes.get(f) * r;
            Lanes.put(f + ds, x * Exp.sigmoid(x * (A + B * x * x)));
        }
    }

    /** to = d gelu'(f r). */
    public static void backward(long f, float r, long d, long to, int n) {
        long dd = d - f, dt = to - f, whole = Lanes.whole(f, n), end = Lanes.end(f, n);
        for (; f < whole; f += Lanes.STEP) {
            FloatVector x = Lanes.load(f).mul(r), square = x.mul(x);
            FloatVector sigma = Exp.sigmoid(x.mul(square.mul(B).add(A)));
            FloatVector steep =
                    x.mul(square.mul(3 * B).add(A)).mul(sigma.mul(-1f).add(1f));
            Lanes.store(Lanes.load(f + dd).mul(sigma).mul(steep.add(1f)), f + dt);
        }
        for (; f < end; f += 4) {
            float x = Lanes.get(f) * r, sigma = Exp.sigmoid(x * (A + B * x * x));
            Lanes.put(f + dt, Lanes.get(f + dd) * sigma * (1 + x * (A + 3 * B * x * x) * (1 - sigma)));
        }
    }
}
