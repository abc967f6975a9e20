package hypertransfer.engine.cpu.vector;

import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorShape;
import jdk.incubator.vector.VectorSpecies;

/** Sums of floats in double precision, in which the products of floats are exact. */
public final class Sums {
    /** Half as many bits as the doubles they become, so that one load makes one vector. */
    public static final VectorSpecies<Double> DOUBLES =
            VectorSpecies.of(double.class, VectorShape.forBitSize(Math.max(128, Lanes.SPECIES.vectorBitSize())));

    public static final VectorSpecies<Float> FLOATS =
            VectorSpecies.of(float.class, VectorShape.forBitSize(DOUBLES.vectorBitSize() / 2));
    private static final int STEP = FLOATS.length() * Float.BYTES;

    private Sums() {}

    public static double squares(long a, long n) {
        return dot(a, a, n);
    }

    public static double dot(long a, long b, long n) {
        DoubleVector s0 = DoubleVector.zero(DOUBLES), s1 = s0;
        long delta = b - a, end = a + 4 * n;
        for (; a <= end - 2L * STEP; a += 2L * STEP) {
            s0 = load(a).fma(load(a + delta), s0);
            s1 = load(a + STEP).fma(load(a + delta + STEP), s1);
        }
        double sum = lanes(s0.add(s1));
        for (; a < end; a += 4) {
            sum += (double) Lanes.get(a) * Lanes.get(a + delta);
        }
        return sum;
    }

    /** In one order, see {@link Lanes#sum}. */
    public static double lanes(DoubleVector v) {
        double sum = 0;
        for (int i = 0; i < DOUBLES.length(); i++) {
            sum += v.lane(i);
        }
        return sum;
    }

    /** One after the other. */
    public static double sum(long a, long n) {
        double sum = 0;
        for (long at = a; at < a + 4 * n; at += 4) {
            sum += Lanes.get(at);
        }
        return sum;
    }

    public static DoubleVector load(long at) {
        return (DoubleVector) FloatVector.fromMemorySegment(FLOATS, Lanes.ALL, at, Lanes.ORDER)
                .convertShape(VectorOperators.F2D, DOUBLES, 0);
    }
}
