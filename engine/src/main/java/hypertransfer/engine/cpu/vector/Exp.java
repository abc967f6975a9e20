package hypertransfer.engine.cpu.vector;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;

/**
 * The exponential, within two units in the last place: 2^n times a polynomial on [-ln2/2, ln2/2], whose coefficients
 * are those of Cephes' expf. Below -87 it stays at 1.6e-38.
 */
public final class Exp {
    private static final float LEAST = -87f, MOST = 88f;
    private static final float LOG2E = 1.44269504f;
    private static final float LN2_HIGH = 0.693359375f;
    private static final float LN2_LOW = -2.12194440e-4f;
    private static final float C0 = 1.9875691500e-4f, C1 = 1.3981999507e-3f, C2 = 8.3334519073e-3f;
    private static final float C3 = 4.1665795894e-2f, C4 = 1.6666665459e-1f, C5 = 5.0000001201e-1f;

    /** Adding it rounds to a whole number, which then stands in the low bits. */
    private static final float ROUND = 12582912f;

    private Exp() {}

    /**
     * x = exp(x - shift) in place over pairs of vectors, where no x is above the shift by much; returns the sum. Two
     * vectors per turn hide each other's latency, and make it too large to be inlined: see {@link Lanes#dot}.
     */
    public static float shifted(long at, int pairs, float shift) {
        FloatVector log2e = Lanes.all(LOG2E), high = Lanes.all(-LN2_HIGH), low = Lanes.all(-LN2_LOW);
        FloatVector round = Lanes.all(ROUND), one = Lanes.all(1), shifts = Lanes.all(shift), least = Lanes.all(LEAST);
        FloatVector c0 = Lanes.all(C0), c1 = Lanes.all(C1), c2 = Lanes.all(C2);
        FloatVector c3 = Lanes.all(C3), c4 = Lanes.all(C4), c5 = Lanes.all(C5);
        FloatVector sum0 = Lanes.zero(), sum1 = Lanes.zero();
        for (long end = at + 2L * pairs * Lanes.STEP; at < end; at += 2L * Lanes.STEP) {
            FloatVector x0 = Lanes.load(at).sub(shifts).max(least);
            FloatVector x1 = Lanes.load(at + Lanes.STEP).sub(shifts).max(least);
            FloatVector t0 = x0.fma(log2e, round), t1 = x1.fma(log2e, round);
            FloatVector n0 = t0.sub(round), n1 = t1.sub(round);
            FloatVector r0 = n0.fma(low, n0.fma(high, x0)), r1 = n1.fma(low, n1.fma(high, x1));
            FloatVector p0 = r0.fma(c0, c1).fma(r0, c2).fma(r0, c3).fma(r0, c4).fma(r0, c5);
            FloatVector p1 = r1.fma(c0, c1).fma(r1, c2).fma(r1, c3).fma(r1, c4).fma(r1, c5);
            FloatVector e0 = power(p0.fma(r0.mul(r0), r0).add(one), t0);
            FloatVector e1 = power(p1.fma(r1.mul(r1), r1).add(one), t1);
            e0.intoMemorySegment(Lanes.ALL, at, Lanes.ORDER); // not by Lanes, for which there is no room left
            e1.intoMemorySegment(Lanes.ALL, at + Lanes.STEP, Lanes.ORDER);
            sum0 = sum0.add(e0);
            sum1 = sum1.add(e1);
        }
        FloatVector sums = sum0.add(sum1);
        float sum = 0;
        for (int i = 0; i < Lanes.W; i++) {
            sum += sums.lane(i);
        }
        return sum;
    }

    /** 1 / (1 + exp(-x)). */
    public static FloatVector sigmoid(FloatVector x) {
        FloatVector y = x.neg().max(LEAST).min(MOST), t = y.mul(LOG2E).add(ROUND), n = t.sub(ROUND);
        FloatVector r = n.fma(Lanes.all(-LN2_LOW), n.fma(Lanes.all(-LN2_HIGH), y));
        FloatVector p =
                r.fma(Lanes.all(C0), Lanes.all(C1)).fma(r, Lanes.all(C2)).fma(r, Lanes.all(C3));
        FloatVector e =
                p.fma(r, Lanes.all(C4)).fma(r, Lanes.all(C5)).fma(r.mul(r), r).add(1f);
        return Lanes.all(1).div(power(e, t).add(1f));
    }

    /** The same of one number. */
    public static float sigmoid(float x) {
        return (float) (1 / (1 + Math.exp(-x)));
    }

    /** p 2^n, where n stands in the low bits of t. */
    private static FloatVector power(FloatVector p, FloatVector t) {
        IntVector exponent = t.reinterpretAsInts().lanewise(VectorOperators.LSHL, 23);
        return p.reinterpretAsInts().add(exponent).reinterpretAsFloats();
    }
}
