package hypertransfer.engine.cpu.loop;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;

import hypertransfer.engine.cpu.vector.Lanes;
import java.lang.foreign.MemorySegment;

/**
 * Rows as arrays, for the time until vectors are compiled: a loop over an array costs 50 ns per number interpreted,
 * one over memory outside the heap 3,000. Whole vectors only; sums are taken in the order of the vectors' lanes.
 */
public final class Rows {
    private static final int W = Lanes.W;

    private Rows() {}

    /** Whether rows of so many numbers leave no remainder, which vectors compute in other roundings. */
    public static boolean whole(int n) {
        return n % W == 0;
    }

    public static float[] read(long at, int n) {
        float[] x = new float[n];
        MemorySegment.copy(Lanes.ALL, JAVA_FLOAT_UNALIGNED, at, x, 0, n);
        return x;
    }

    public static void write(float[] x, long at) {
        MemorySegment.copy(x, 0, Lanes.ALL, JAVA_FLOAT_UNALIGNED, at, x.length);
    }

    /** {@link Lanes#dot}. */
    public static float dot(float[] a, float[] b, int at, int n) {
        return sum(a, b, at, n, 4, 8);
    }

    /**
     * The sum of a b. Vectors are added to the chains in turns, so many vectors per turn; those that fill no turn are
     * added to the first chain.
     */
    static float sum(float[] a, float[] b, int at, int n, int chains, int turn) {
        float[] s = new float[chains * W];
        int turns = n / (turn * W) * turn * W, end = at + n, i = at;
        while (i < at + turns) {
            for (int lane = 0; lane < s.length; lane++, i++) {
                s[lane] = Math.fma(a[i], b[i], s[lane]);
            }
        }
        while (i < end) {
            for (int lane = 0; lane < W; lane++, i++) {
                s[lane] = Math.fma(a[i], b[i], s[lane]);
            }
        }
        for (int apart = W; apart < s.length; apart *= 2) { // s0 + s1, then (s0 + s1) + (s2 + s3)
            for (int lane = 0; lane + apart < s.length; lane++) {
                s[lane] += s[lane + apart];
            }
        }
        return lanes(s);
    }

    /** {@link Lanes#sum}. */
    private static float lanes(float[] s) {
        if (W == 4) {
            return s[0] + s[1] + (s[2] + s[3]);
        }
        float sum = 0;
        for (int lane = 0; lane < W; lane++) {
            sum += s[lane];
        }
        return sum;
    }

    /** {@link Lanes#scale}. */
    public static void scale(float factor, long from, long to, int n) {
        float[] x = read(from, n);
        scale(factor, x, 0, n);
        write(x, to);
    }

    static void scale(float factor, float[] x, int at, int n) {
        for (int i = at; i < at + n; i++) {
            x[i] *= factor;
        }
    }

    /** {@link Lanes#add} for each of some rows in turn. */
    public static void add(long from, int rows, long to, int n) {
        float[] x = read(from, rows * n), sums = read(to, n);
        for (int row = 0; row < rows; row++) {
            add(x, row * n, sums);
        }
        write(sums, to);
    }

    private static void add(float[] x, int at, float[] sums) {
        for (int i = 0; i < sums.length; i++) {
            sums[i] = x[at + i] + sums[i];
        }
    }
}
