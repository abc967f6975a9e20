package hypertransfer.engine.cpu.vector;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;

import hypertransfer.engine.Engine;
import hypertransfer.engine.EngineException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorShape;
import jdk.incubator.vector.VectorSpecies;

/**
 * Vectors of floats at addresses. The width is the machine's, or what {@code ht.vector.bits} says.
 *
 * <p>All memory is one segment, so that its bounds are constants to the compiler; shapes are checked before they come here.
 */
public final class Lanes {
    public static final VectorSpecies<Float> SPECIES = species(System.getProperty("ht.vector.bits"));
    public static final int W = SPECIES.length();

    /** A vector's length in bytes. */
    public static final int STEP = W * Float.BYTES;

    public static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);
    public static final ByteOrder ORDER = ByteOrder.nativeOrder();

    private Lanes() {}

    private static VectorSpecies<Float> species(String bits) {
        if (bits == null) {
            return FloatVector.SPECIES_PREFERRED;
        }
        return switch (bits) {
            case "64", "128", "256", "512" ->
                VectorSpecies.of(float.class, VectorShape.forBitSize(Integer.parseInt(bits)));
            default -> throw new EngineException("ht.vector.bits is " + bits + "; it must be 64, 128, 256 or 512");
        };
    }

    public static FloatVector load(long at) {
        return FloatVector.fromMemorySegment(SPECIES, ALL, at, ORDER);
    }

    public static void store(FloatVector v, long at) {
        v.intoMemorySegment(ALL, at, ORDER);
    }

    public static FloatVector all(float value) {
        return FloatVector.broadcast(SPECIES, value);
    }

    /** Created per call: a static vector is a heap object, and C2 then boxes every vector derived from it. */
    public static FloatVector zero() {
        return FloatVector.zero(SPECIES);
    }

    public static float get(long at) {
        return ALL.get(JAVA_FLOAT_UNALIGNED, at);
    }

    public static void put(long at, float value) {
        ALL.set(JAVA_FLOAT_UNALIGNED, at, value);
    }

    public static void copy(long from, long to, long bytes) {
        MemorySegment.copy(ALL, from, ALL, to, bytes);
    }

    public static void fill(float value, long at, int n) {
        FloatVector v = all(value);
        long whole = whole(at, n), end = end(at, n);
        for (; at < whole; at += STEP) {
            store(v, at);
        }
        for (; at < end; at += Float.BYTES) {
            put(at, value);
        }
    }

    /** n numbers times a factor. */
    public static void scale(float factor, long from, long to, int n) {
        long delta = to - from, whole = whole(from, n), end = end(from, n);
        for (; from < whole; from += STEP) {
            store(load(from).mul(factor), from + delta);
        }
        for (; from < end; from += Float.BYTES) {
            put(from + delta, get(from) * factor);
        }
    }

    /** n numbers of one added to n of the other. */
    public static void add(long from, long to, int n) {
        long delta = to - from, whole = whole(from, n), end = end(from, n);
        for (; from < whole; from += STEP) {
            store(load(from).add(load(from + delta)), from + delta);
        }
        for (; from < end; from += Float.BYTES) {
            put(from + delta, get(from) + get(from + delta));
        }
    }

    /** Takes the mean of n numbers away from each. */
    public static void center(long at, int n) {
        FloatVector sums = zero();
        long start = at, whole = whole(at, n), end = end(at, n);
        for (; at < whole; at += STEP) {
            sums = sums.add(load(at));
        }
        float sum = sum(sums);
        for (; at < end; at += Float.BYTES) {
            sum += get(at);
        }
        float mean = sum / n;
        for (at = start; at < whole; at += STEP) {
            store(load(at).sub(mean), at);
        }
        for (; at < end; at += Float.BYTES) {
            put(at, get(at) - mean);
        }
    }

    /** Where whole vectors end in n numbers from an address. */
    public static long whole(long at, int n) {
        return at + (long) SPECIES.loopBound(n) * Float.BYTES;
    }

    public static long end(long at, int n) {
        return at + (long) n * Float.BYTES;
    }

    /** In one order: {@code reduceLanes} adds in another when interpreted than when compiled. */
    public static float sum(FloatVector v) {
        if (W == 4) {
            return v.lane(0) + v.lane(1) + (v.lane(2) + v.lane(3));
        }
        float sum = 0;
        for (int i = 0; i < W; i++) {
            sum += v.lane(i);
        }
        return sum;
    }

    /**
     * The sum of a b over n numbers. Four accumulators hide the FMA latency. Eight vectors per turn make it too large
     * to be inlined, on purpose: C2 has room for only a few vector loops in one method, and boxes the vectors of more.
     */
    public static float dot(long a, long b, int n) {
        FloatVector s0 = zero(), s1 = zero(), s2 = zero(), s3 = zero();
        long d = b - a, whole = whole(a, n), end = end(a, n);
        for (; a <= whole - 8L * STEP; a += 8L * STEP) {
            s0 = load(a).fma(load(a + d), s0);
            s1 = load(a + STEP).fma(load(a + d + STEP), s1);
            s2 = load(a + 2L * STEP).fma(load(a + d + 2L * STEP), s2);
            s3 = load(a + 3L * STEP).fma(load(a + d + 3L * STEP), s3);
            s0 = load(a + 4L * STEP).fma(load(a + d + 4L * STEP), s0);
            s1 = load(a + 5L * STEP).fma(load(a + d + 5L * STEP), s1);
            s2 = load(a + 6L * STEP).fma(load(a + d + 6L * STEP), s2);
            s3 = load(a + 7L * STEP).fma(load(a + d + 7L * STEP), s3);
        }
        for (; a < whole; a += STEP) {
            s0 = load(a).fma(load(a + d), s0);
        }
        float sum = sum(s0.add(s1).add(s2.add(s3)));
        for (; a < end; a += Float.BYTES) {
            sum += get(a) * get(a + d);
        }
        return sum;
    }

    /** The factor of an RMS norm. */
    public static float rms(float squares, int n) {
        return (float) (1 / Math.sqrt((double) squares / n + Engine.NORM_EPSILON));
    }
}
