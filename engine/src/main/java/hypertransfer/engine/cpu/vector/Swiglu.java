package hypertransfer.engine.cpu.vector;

import jdk.incubator.vector.FloatVector;

/** x sigmoid(x) y over one row, whose x and y lie beside each other in f, each with the factor of its norm. */
public final class Swiglu {
    private Swiglu() {}

    public static void forward(long f, float rx, long g, float ry, long s, int n) {
        long dg = g - f, ds = s - f, whole = Lanes.whole(f, n), end = Lanes.end(f, n);
        for (; f < whole; f += Lanes.STEP) {
            FloatVector x = Lanes.load(f).mul(rx), y = Lanes.load(f + dg).mul(ry);
            Lanes.store(x.mul(Exp.sigmoid(x)).mul(y), f + ds);
        }
        for (; f < end; f += 4) {
            float x = Lanes.get(f) * rx, y = Lanes.get(f + dg) * ry;
            Lanes.put(f + ds, x * Exp.sigmoid(x) * y);
        }
    }

    /** The gradient at x into to, the one at y beside it. */
    public static void backward(long f, float rx, long g, float ry, long d, long to, int n) {
        long dg = g - f, dd = d - f, dt = to - f, whole = Lanes.whole(f, n), end = Lanes.end(f, n);
        for (; f < whole; f += Lanes.STEP) {
            FloatVector x = Lanes.load(f).mul(rx), y = Lanes.load(f + dg).mul(ry), sigma = Exp.sigmoid(x);
            FloatVector in = Lanes.load(f + dd).mul(sigma),
                    steep = x.mul(sigma.mul(-1f).add(1f)).add(1f);
            Lanes.store(in.mul(steep).mul(y), f + dt);
            Lanes.store(in.mul(x), f + dt + dg);
        }
        for (; f < end; f += 4) {
            float x = Lanes.get(f) * rx, y = Lanes.get(f + dg) * ry, sigma = Exp.sigmoid(x);
            float in = Lanes.get(f + dd) * sigma;
            Lanes.put(f + dt, in * (1 + x * (1 - sigma)) * y);
            Lanes.put(f + dt + dg, in * x);
        }
    }
}
