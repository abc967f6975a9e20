package hypertransfer.engine.reference;

import hypertransfer.engine.Engine;

/** What is done to one row at a time. */
final class Rows {
    private Rows() {}

    static double dot(double[] a, int ai, double[] b, int bi, int n) {
        double sum = 0;
        for (int i = 0; i < n; i++) {
            sum += a[ai + i] * b[bi + i];
        }
        return sum;
    }

    /** to += factor * from. */
    static void add(double factor, double[] from, int fi, double[] to, int ti, int n) {
        for (int i = 0; i < n; i++) {
            to[ti + i] += factor * from[fi + i];
        }
    }

    /** The factor that a norm multiplies a row with. */
    static double rms(double[] x, int xi, int n) {
        return 1 / Math.sqrt(dot(x, xi, x, xi, n) / n + Engine.NORM_EPSILON);
    }

    /**
     * In place, from the gradient at xhat = x r to the one at x: d = r (d - xhat mean(d xhat)). The epsilon inside r is
     * accounted for exactly.
     */
    static void throughNorm(double[] d, int di, double[] xhat, int xi, double r, int n) {
        double mean = dot(d, di, xhat, xi, n) / n;
        for (int i = 0; i < n; i++) {
            d[di + i] = r * (d[di + i] - xhat[xi + i] * mean);
        }
    }
}
