package hypertransfer.engine.cpu.loop;

import hypertransfer.engine.cpu.vector.Exp;
import hypertransfer.engine.cpu.vector.Lanes;
import java.util.Arrays;

/** Softmax of rows of scores, by loops: numbers a row must not see count as far below all others. */
public final class SoftmaxRows {
    private static final int PAIR = 2 * Lanes.W;

    private SoftmaxRows() {}

    /** The largest of n numbers. */
    public static float max(float[] x, int at, int n) {
        float max = -Float.MAX_VALUE;
        for (int i = at; i < at + n; i++) {
            max = Math.max(max, x[i]);
        }
        return max;
    }

    /** {@link Exp#shifted(long, int, float)}. */
    public static float exponentials(float[] x, int at, int n, float shift) {
        Exp.shifted(x, at, n, shift);
        float[] s = new float[PAIR];
        for (int i = at; i < at + n; ) {
            for (int lane = 0; lane < PAIR; lane++, i++) {
                s[lane] += x[i];
            }
        }
        float sum = 0;
        for (int lane = 0; lane < Lanes.W; lane++) {
            sum += s[lane] + s[lane + Lanes.W];
        }
        return sum;
    }

    /** A row of attention in place; returns the logarithm of its sum. */
    public static float forward(float[] p, int at, int seen, int keys, int window) {
        int n = whole(seen), end = Math.max(keys, n);
        blind(p, at, seen, end, window, -Float.MAX_VALUE);
        float max = max(p, at, n), sum = exponentials(p, at, n, max);
        Rows.scale(1 / sum, p, at, seen);
        blind(p, at, seen, end, window, 0);
        return (float) (max + Math.log(sum));
    }

    /** From the scores of a row and the gradient dp at its softmax to the softmax and the gradient at the scores. */
    public static void backward(
            float[] p, float[] dp, int at, int seen, int keys, int window, float lse, float mean, float scale) {
        int n = whole(seen), end = Math.max(keys, n);
        blind(p, at, seen, end, window, -Float.MAX_VALUE);
        Exp.shifted(p, at, n, lse);
        blind(p, at, seen, end, window, 0);
        slopes(p, dp, at, n, mean, scale);
        Arrays.fill(dp, at + seen, at + end, 0);
    }

    /** dp = scale p (dp - mean) in place. */
    private static void slopes(float[] p, float[] dp, int at, int n, float mean, float scale) {
        for (int i = at; i < at + n; i++) {
            dp[i] = (dp[i] - mean) * (p[i] * scale);
        }
    }

    /** So many numbers in whole pairs of vectors. */
    public static int whole(int n) {
        return (n + PAIR - 1) / PAIR * PAIR;
    }

    private static void blind(float[] p, int at, int seen, int end, int window, float blank) {
        Arrays.fill(p, at + seen, at + end, blank);
        Arrays.fill(p, at, at + Math.max(0, seen - window), blank);
    }
}
