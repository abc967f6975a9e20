package hypertransfer.train.optimizer;

/** One-sided Jacobi: turns the rows of a matrix until they are orthogonal. Slow, and accurate to rounding. */
final class Svd {
    /** The left singular vectors, transposed: row k belongs to singular value k. */
    final double[][] u;

    final double[] sigma;
    /** Row k is the right singular vector of singular value k, or zero where that is zero. */
    final double[][] v;

    /** A matrix with no more rows than columns. */
    Svd(double[][] x) {
        int m = x.length, n = x[0].length;
        v = new double[m][];
        u = new double[m][m];
        for (int i = 0; i < m; i++) {
            v[i] = x[i].clone();
            u[i][i] = 1;
        }
        double off = 1;
        for (int sweep = 0; sweep < 60 && off > 1e-15; sweep++) {
            off = 0;
            for (int i = 0; i < m; i++) {
                for (int j = i + 1; j < m; j++) {
                    double a = dot(v[i], v[i]), b = dot(v[j], v[j]), c = dot(v[i], v[j]);
                    if (c == 0) {
                        continue;
                    }
                    off = Math.max(off, Math.abs(c) / Math.sqrt(a * b));
                    double zeta = (b - a) / (2 * c);
                    double t = Math.copySign(1, zeta) / (Math.abs(zeta) + Math.hypot(1, zeta));
                    double cos = 1 / Math.hypot(1, t), sin = cos * t;
                    turn(v, i, j, cos, sin);
                    turn(u, i, j, cos, sin);
                }
            }
        }
        sigma = new double[m];
        for (int k = 0; k < m; k++) {
            sigma[k] = Math.sqrt(dot(v[k], v[k]));
            for (int j = 0; j < n; j++) {
                v[k][j] = sigma[k] == 0 ? 0 : v[k][j] / sigma[k];
            }
        }
    }

    private static void turn(double[][] rows, int i, int j, double cos, double sin) {
        for (int k = 0; k < rows[i].length; k++) {
            double a = rows[i][k], b = rows[j][k];
            rows[i][k] = cos * a - sin * b;
            rows[j][k] = sin * a + cos * b;
        }
    }

    private static double dot(double[] a, double[] b) {
        double sum = 0;
        for (int i = 0; i < a.length; i++) {
            sum += a[i] * b[i];
        }
        return sum;
    }
}
