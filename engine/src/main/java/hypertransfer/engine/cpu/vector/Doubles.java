package hypertransfer.engine.cpu.vector;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE_UNALIGNED;

import hypertransfer.engine.Format;
import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;

/** What the optimizer does to exact masters: doubles at addresses, beside directions and weights that are floats. */
public final class Doubles {
    private static final int W = Sums.DOUBLES.length();
    private static final int BLOCK = 128;

    private Doubles() {}

    public static double get(long at) {
        return Lanes.ALL.get(JAVA_DOUBLE_UNALIGNED, at);
    }

    public static void put(long at, double value) {
        Lanes.ALL.set(JAVA_DOUBLE_UNALIGNED, at, value);
    }

    public static double squares(long a, int n) {
        return dot(a, a, true, n);
    }

    /**
     * The sum of a b; b is floats, or doubles too. What adding up the blocks loses is kept and added at the end: at every step
     * a follower turns by a norm that is read, and all its errors add up.
     */
    public static double dot(long a, long b, boolean both, int n) {
        double sum = 0, lost = 0;
        for (int from = 0; from < n; from += BLOCK) {
            double block = block(a + 8L * from, b + (both ? 8L : 4L) * from, both, Math.min(BLOCK, n - from));
            double more = sum + block;
            lost += Math.abs(sum) < Math.abs(block) ? block - more + sum : sum - more + block;
            sum = more;
        }
        return sum + lost;
    }

    /** Two chains and one order, as in {@link Sums#dot}. */
    private static double block(long a, long b, boolean both, int n) {
        DoubleVector s0 = DoubleVector.zero(Sums.DOUBLES), s1 = DoubleVector.zero(Sums.DOUBLES);
        int i = 0;
        if (both) {
            for (; i <= n - 2 * W; i += 2 * W) {
                s0 = load(a + 8L * i).fma(load(b + 8L * i), s0);
                s1 = load(a + 8L * (i + W)).fma(load(b + 8L * (i + W)), s1);
            }
        } else {
            for (; i <= n - 2 * W; i += 2 * W) {
                s0 = load(a + 8L * i).fma(Sums.load(b + 4L * i), s0);
                s1 = load(a + 8L * (i + W)).fma(Sums.load(b + 4L * (i + W)), s1);
            }
        }
        double sum = Sums.lanes(s0.add(s1));
        for (; i < n; i++) {
            sum += get(a + 8L * i) * (both ? get(b + 8L * i) : Lanes.get(b + 4L * i));
        }
        return sum;
    }

    /** w = keep w - push u. */
    public static void move(long w, long u, double keep, double push, int n) {
        int i = 0;
        for (; i <= n - W; i += W) {
            DoubleVector kept = load(w + 8L * i).mul(keep);
            kept.sub(Sums.load(u + 4L * i).mul(push)).intoMemorySegment(Lanes.ALL, w + 8L * i, Lanes.ORDER);
        }
        for (; i < n; i++) {
            put(w + 8L * i, keep * get(w + 8L * i) - push * Lanes.get(u + 4L * i));
        }
    }

    /** weight = scale w, rounded once: to the grid, or to a float where that is coarser. */
    public static void represent(long w, double scale, int grid, long weight, int n) {
        double splitter = Format.splitter(grid);
        boolean coarse = grid < Float.PRECISION;
        int i = 0;
        for (; i <= n - W; i += W) {
            DoubleVector x = load(w + 8L * i).mul(scale);
            if (coarse) {
                DoubleVector c = x.mul(splitter);
                x = c.sub(c.sub(x));
            }
            FloatVector floats = (FloatVector) x.convertShape(VectorOperators.D2F, Sums.FLOATS, 0);
            floats.intoMemorySegment(Lanes.ALL, weight + 4L * i, Lanes.ORDER);
        }
        for (; i < n; i++) {
            double x = scale * get(w + 8L * i);
            Lanes.put(weight + 4L * i, (float) (coarse ? Format.round(x, grid) : x));
        }
    }

    /** Floats rounded to a grid in place. */
    public static void round(long x, int grid, int n) {
        if (grid < Float.PRECISION) {
            for (int i = 0; i < n; i++) {
                Lanes.put(x + 4L * i, (float) Format.round(Lanes.get(x + 4L * i), grid));
            }
        }
    }

    private static DoubleVector load(long at) {
        return DoubleVector.fromMemorySegment(Sums.DOUBLES, Lanes.ALL, at, Lanes.ORDER);
    }
}
