package hypertransfer.core.array;

import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * A matrix as an array of rows, with what Newton-Schulz needs of it. In the inner loops every array has the same index: then
 * the compiler knows that they do not overlap by halves, and makes vectors of them.
 */
record Rows(double[][] rows) {
    /** Columns that are worked on together, so that the rows of a product stay in the nearest cache. */
    private static final int TILE = 512;

    static Rows of(double[] values, int rows, int cols) {
        return new Rows(IntStream.range(0, rows)
                .mapToObj(i -> Arrays.copyOfRange(values, i * cols, (i + 1) * cols))
                .toArray(double[][]::new));
    }

    double[] flat() {
        return Arrays.stream(rows).flatMapToDouble(Arrays::stream).toArray();
    }

    /** {@code a * this + b * other}. */
    Rows plus(double a, Rows other, double b) {
        double[][] sum = new double[rows.length][rows[0].length];
        for (int i = 0; i < rows.length; i++) {
            double[] out = sum[i], x = rows[i], y = other.rows[i];
            for (int j = 0; j < out.length; j++) {
                out[j] = a * x[j] + b * y[j];
            }
        }
        return new Rows(sum);
    }

    Rows transposed() {
        double[][] turned = new double[rows[0].length][rows.length];
        for (int i = 0; i < rows.length; i++) {
            for (int j = 0; j < turned.length; j++) {
                turned[j][i] = rows[i][j];
            }
        }
        return new Rows(turned);
    }

    Rows times(Rows other) {
        return new Rows(product(other.rows, other.rows[0].length));
    }

    /** The product where it is known to be symmetric: only what lies below the diagonal is computed. */
    Rows symmetric(Rows other) {
        double[][] out = product(other.rows, 0);
        for (int i = 0; i < out.length; i++) {
            for (int j = i + 1; j < out.length; j++) {
                out[i][j] = out[j][i];
            }
        }
        return new Rows(out);
    }

    /** Two rows at a time, in all columns below {@code least} and up to the diagonal, on all processors. */
    private double[][] product(double[][] q, int least) {
        double[][] out = new double[rows.length][q[0].length];
        IntStream.range(0, (rows.length + 1) / 2).parallel().forEach(pair -> {
            int i = 2 * pair, k = i + 1, right = Math.min(Math.max(least, i + 2), out[0].length);
            for (int left = 0; left < right; left += TILE) {
                int end = Math.min(left + TILE, right), s = 0;
                for (; k < rows.length && s + 4 <= q.length; s += 4) {
                    add(out[i], out[k], rows[i], rows[k], q, s, left, end);
                }
                for (; s < q.length; s++) {
                    for (int row = i; row <= k && row < rows.length; row++) {
                        add(out[row], rows[row][s], q[s], left, end);
                    }
                }
            }
        });
        return out;
    }

    /** Four rows of q times four numbers of each of two rows. */
    private static void add(
            double[] out, double[] next, double[] p, double[] r, double[][] q, int s, int left, int end) {
        double[] a = q[s], b = q[s + 1], c = q[s + 2], d = q[s + 3];
        double pa = p[s], pb = p[s + 1], pc = p[s + 2], pd = p[s + 3];
        double ra = r[s], rb = r[s + 1], rc = r[s + 2], rd = r[s + 3];
        for (int j = left; j < end; j++) {
            double aj = a[j], bj = b[j], cj = c[j], dj = d[j];
            out[j] = Math.fma(pd, dj, Math.fma(pc, cj, Math.fma(pb, bj, Math.fma(pa, aj, out[j]))));
            next[j] = Math.fma(rd, dj, Math.fma(rc, cj, Math.fma(rb, bj, Math.fma(ra, aj, next[j]))));
        }
    }

    private static void add(double[] out, double factor, double[] q, int left, int end) {
        for (int j = left; j < end; j++) {
            out[j] = Math.fma(factor, q[j], out[j]);
        }
    }
}
