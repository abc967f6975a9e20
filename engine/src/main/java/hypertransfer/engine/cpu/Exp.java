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
    private static final float LOG2E = 1.44269504f;
    private static final float LN2_HIGH = 0.693359375f;
    private static final float LN2_LOW = -2.12194440e-4f;
    private static final float C0 = 1.9875691500e-4f, C1 = 1.3981999507e-3f, C2 = 8.3334519073e-3f;
    private static final float C3 = 4.1665795894e-2f, C4 = 1.6666665459e-1f, C5 = 5.0000001201e-1f;

    /** Adding it rounds to a whole number, which then stands in the low bits. */
    private static final float ROUND = 12582912f;

    private Exp() {}

    /**
     * x = exp(x - shift) in place, over whole vectors, where no x is above the shift by much; returns the sum. The polynomial stands in the loop because a
     * method of its own would be too large to be inlined, and its vectors would become objects.
     */
    static float shifted(long at, int vectors, float shift) {
        FloatVector sums = Lanes.zero();
        for (long end = at + (long) vectors * Lanes.STEP; at < end; at += Lanes.STEP) {
            FloatVector x = Lanes.load(at).sub(shift);
            FloatVector rounded = x.fma(Lanes.all(LOG2E), Lanes.all(ROUND));
            FloatVector n = rounded.sub(ROUND);
            FloatVector r = n.fma(Lanes.all(-LN2_HIGH), x);
            r = n.fma(Lanes.all(-LN2_LOW), r);
            FloatVector p = r.fma(Lanes.all(C0), Lanes.all(C1));
            p = p.fma(r, Lanes.all(C2));
            p = p.fma(r, Lanes.all(C3));
            p = p.fma(r, Lanes.all(C4));
            p = p.fma(r, Lanes.all(C5));
            p = p.fma(r.mul(r), r).add(1f);
            IntVector exponent = rounded.reinterpretAsInts().lanewise(VectorOperators.LSHL, 23);
            FloatVector result = p.reinterpretAsInts().add(exponent).reinterpretAsFloats();
            result = result.blend(0f, x.lt(LEAST));
            Lanes.store(result, at);
            sums = sums.add(result);
        }
        return Lanes.sum(sums);
    }
}
