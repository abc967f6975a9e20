package hypertransfer.engine.cpu;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;

/**
 * The exponential, within two units in the last place: 2^n times a polynomial on [-ln2/2, ln2/2], whose coefficients
 * are those of Cephes' expf. Below -87, where floats lose digits, it is zero.
 */
final class Exp {
    private static final float LEAST = -87f;
    private static final float MOST = 88f;
    private static final float LOG2E = 1.44269504f;
    private static final float LN2_HIGH = 0.693359375f;
    private static final float LN2_LOW = -2.12194440e-4f;
    private static final float C0 = 1.9875691500e-4f, C1 = 1.3981999507e-3f, C2 = 8.3334519073e-3f;
    private static final float C3 = 4.1665795894e-2f, C4 = 1.6666665459e-1f, C5 = 5.0000001201e-1f;

    /** Adding it rounds to a whole number, which then stands in the low bits. */
    private static final float ROUND = 12582912f;

    private Exp() {}

    static FloatVector exp(FloatVector x) {
        FloatVector v = x.min(MOST);
        FloatVector shifted = v.fma(Lanes.all(LOG2E), Lanes.all(ROUND));
        FloatVector n = shifted.sub(ROUND);
        FloatVector r = n.fma(Lanes.all(-LN2_HIGH), v);
        r = n.fma(Lanes.all(-LN2_LOW), r);
        FloatVector p = Lanes.all(C0).fma(r, Lanes.all(C1));
        p = p.fma(r, Lanes.all(C2));
        p = p.fma(r, Lanes.all(C3));
        p = p.fma(r, Lanes.all(C4));
        p = p.fma(r, Lanes.all(C5));
        p = p.fma(r.mul(r), r).add(1f);
        IntVector exponent = shifted.reinterpretAsInts().lanewise(VectorOperators.LSHL, 23);
        FloatVector result = p.reinterpretAsInts().add(exponent).reinterpretAsFloats();
        return result.blend(0f, x.lt(LEAST));
    }

    static float exp(float x) {
        return x < LEAST ? 0 : (float) Math.exp(Math.min(x, MOST));
    }
}
