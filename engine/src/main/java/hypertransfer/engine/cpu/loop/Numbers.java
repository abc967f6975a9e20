package hypertransfer.engine.cpu.loop;

import hypertransfer.engine.Moments;
import hypertransfer.engine.cpu.vector.Sums;

/** What the optimizer does to every number, and to whole matrices, by loops. */
public final class Numbers {
    private static final int BLOCK = 1 << 12;

    private Numbers() {}

    public static void momentum(long g, long m, float beta, float fresh, boolean nesterov, int n) {
        float[] gradients = Rows.read(g, n), means = Rows.read(m, n);
        for (int i = 0; i < n; i++) {
            float gradient = gradients[i] * fresh, mean = Math.fma(means[i], beta, gradient);
            means[i] = mean;
            gradients[i] = nesterov ? Math.fma(mean, beta, gradient) : mean;
        }
        Rows.write(means, m);
        Rows.write(gradients, g);
    }

    public static void adam(long g, long m, long v, float scale, Moments moments, int n) {
        float b1 = (float) moments.beta1(), f1 = (float) (1 - moments.beta1()), c1 = (float) (1 / moments.weight1());
        float b2 = (float) moments.beta2(), f2 = (float) (1 - moments.beta2()), c2 = (float) (1 / moments.weight2());
        float epsilon = (float) moments.epsilon();
        float[] gradients = Rows.read(g, n), means = Rows.read(m, n), squares = Rows.read(v, n);
        for (int i = 0; i < n; i++) {
            float gradient = gradients[i] * scale;
            float mean = Math.fma(means[i], b1, gradient * f1);
            float square = Math.fma(squares[i], b2, gradient * gradient * f2);
            means[i] = mean;
            squares[i] = square;
            gradients[i] = mean * c1 / ((float) Math.sqrt(square * c2) + epsilon);
        }
        Rows.write(means, m);
        Rows.write(squares, v);
        Rows.write(gradients, g);
    }

    /** w -= lose w + push u. */
    public static void move(long w, long u, float lose, float push, int n) {
        float[] weights = Rows.read(w, n), directions = Rows.read(u, n);
        for (int i = 0; i < n; i++) {
            weights[i] -= Math.fma(directions[i], push, weights[i] * lose);
        }
        Rows.write(weights, w);
    }

    /** {@link Sums#dot}, of whatever length. */
    public static double dot(long a, long b, long n) {
        int lanes = 2 * Sums.DOUBLES.length();
        double[] s = new double[lanes];
        long whole = n / lanes * lanes, done = 0;
        while (done < whole) {
            int count = (int) Math.min(BLOCK, whole - done);
            float[] x = Rows.read(a + 4 * done, count), y = a == b ? x : Rows.read(b + 4 * done, count);
            for (int i = 0; i < count; ) {
                for (int lane = 0; lane < lanes; lane++, i++) {
                    s[lane] = Math.fma((double) x[i], (double) y[i], s[lane]);
                }
            }
            done += count;
        }
        double sum = 0;
        for (int lane = 0; lane < lanes / 2; lane++) {
            sum += s[lane] + s[lane + lanes / 2];
        }
        float[] x = Rows.read(a + 4 * done, (int) (n - done)), y = Rows.read(b + 4 * done, (int) (n - done));
        for (int i = 0; i < x.length; i++) {
            sum += (double) x[i] * y[i];
        }
        return sum;
    }

    /** The upper triangle of a square matrix from the lower. */
    public static void mirror(long a, int m) {
        float[] x = Rows.read(a, m * m);
        for (int row = 0; row < m; row++) {
            for (int from = row * m, to = row; from < row * m + row; from++, to += m) {
                x[to] = x[from];
            }
        }
        Rows.write(x, a);
    }
}
