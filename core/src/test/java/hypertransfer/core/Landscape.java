package hypertransfer.core;

import java.util.HashMap;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;

/**
 * A smooth, non-convex loss of a small matrix, with its gradient by hand and another minibatch at every step:
 * {@code h_t(x) = mean over the batch of log cosh(<a, x> - y) + sin(<b, x>) / 2}.
 *
 * @param invariant whether the loss sees {@code x = w / |w|}, or w itself
 */
record Landscape(boolean invariant, double[][] a, double[][] b, double[] y) {
    static final int SIZE = 24;
    private static final int EXAMPLES = 512;
    private static final int BATCH = 16;
    private static final Map<Integer, int[]> BATCHES = new HashMap<>(); // drawn once: all runs have the same

    static Landscape draw(boolean invariant, long seed) {
        RandomGenerator random = new SplittableRandom(seed);
        double[][] a = new double[EXAMPLES][];
        double[][] b = new double[EXAMPLES][];
        double[] y = new double[EXAMPLES];
        for (int k = 0; k < EXAMPLES; k++) {
            a[k] = Draws.vector(random, SIZE, 4);
            b[k] = Draws.vector(random, SIZE, 2);
            y[k] = a[k][0] / 2 + random.nextGaussian();
        }
        return new Landscape(invariant, a, b, y);
    }

    double value(double[] w, int t) {
        double[] x = seen(w);
        double sum = 0;
        for (int k : batch(t)) {
            sum += Math.log(Math.cosh(Explicit.dot(a[k], x) - y[k])) + Math.sin(Explicit.dot(b[k], x)) / 2;
        }
        return sum / BATCH;
    }

    double[] gradient(double[] w, int t) {
        double[] x = seen(w);
        double[] g = new double[SIZE];
        for (int k : batch(t)) {
            double slope = Math.tanh(Explicit.dot(a[k], x) - y[k]) / BATCH;
            double wave = Math.cos(Explicit.dot(b[k], x)) / 2 / BATCH;
            for (int i = 0; i < SIZE; i++) {
                g[i] += slope * a[k][i] + wave * b[k][i];
            }
        }
        return invariant ? Explicit.scaled(1 / Explicit.norm(w), Explicit.sum(1, g, -Explicit.dot(g, x), x)) : g;
    }

    private double[] seen(double[] w) {
        return invariant ? Explicit.scaled(1 / Explicit.norm(w), w) : w;
    }

    private static int[] batch(int t) {
        return BATCHES.computeIfAbsent(
                t, step -> new SplittableRandom(step).ints(BATCH, 0, EXAMPLES).toArray());
    }
}
