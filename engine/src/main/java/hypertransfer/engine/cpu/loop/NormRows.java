package hypertransfer.engine.cpu.loop;

import hypertransfer.engine.cpu.vector.Lanes;
import java.util.Arrays;

/** The norms of some rows, forward and backward, by loops. */
public final class NormRows {
    private NormRows() {}

    /** y = norm(x, gain); r = its factors. */
    public static void forward(int rows, int cols, long x, long gain, long y, long r) {
        forward(Rows.read(x, rows * cols), 4, 8, rows, cols, gain, y, r);
    }

    /** out = h + post(z), y = norm(out, gain). zr = 0: post is the identity. */
    public static void residual(int rows, int cols, long h, long z, long zr, long out, long gain, long y, long r) {
        float[] x = Rows.read(h, rows * cols), zs = Rows.read(z, rows * cols), factors = new float[rows];
        for (int row = 0; row < rows; row++) {
            int at = row * cols;
            float post = zr == 0 ? 1 : Lanes.rms(Rows.dot(zs, zs, at, cols), cols);
            factors[row] = post;
            add(x, zs, at, cols, post);
        }
        if (zr != 0) {
            Rows.write(factors, zr);
        }
        Rows.write(x, out);
        forward(x, 2, 2, rows, cols, gain, y, r);
    }

    private static void forward(float[] x, int chains, int turn, int rows, int cols, long gain, long y, long r) {
        float[] gains = Rows.read(gain, cols), factors = new float[rows];
        for (int row = 0; row < rows; row++) {
            int at = row * cols;
            float factor = Lanes.rms(Rows.sum(x, x, at, cols, chains, turn), cols);
            factors[row] = factor;
            gained(x, at, factor, gains);
        }
        Rows.write(factors, r);
        Rows.write(x, y);
    }

    /** h += post z. */
    private static void add(float[] h, float[] z, int at, int n, float post) {
        for (int i = at; i < at + n; i++) {
            h[i] = Math.fma(z[i], post, h[i]);
        }
    }

    /** x = x r (1 + gain). */
    private static void gained(float[] x, int at, float r, float[] gain) {
        for (int i = 0; i < gain.length; i++) {
            float scaled = x[at + i] * r;
            x[at + i] = Math.fma(scaled, gain[i], scaled);
        }
    }

    /**
     * dh = the gradient through y = norm(out, gain), or with add, dh += it; dgain = the gain's; then, unless zr = 0, dz =
     * the gradient through the post norm of z.
     */
    public static void backward(
            boolean add,
            int rows,
            int cols,
            long dy,
            long z,
            long zr,
            long out,
            long gain,
            long r,
            long dh,
            long dz,
            long dgain) {
        int n = rows * cols;
        float[] d = Rows.read(dy, n), x = Rows.read(out, n), gains = Rows.read(gain, cols), sums = new float[cols];
        float[] factors = Rows.read(r, rows), h = add ? Rows.read(dh, n) : new float[n], p = new float[cols];
        float[] one = new float[cols];
        Arrays.fill(one, 1);
        float[] zs = zr == 0 ? x : Rows.read(z, n), posts = zr == 0 ? factors : Rows.read(zr, rows);
        for (int row = 0; row < rows; row++) {
            int at = row * cols;
            float factor = factors[row];
            toGain(d, x, at, factor, gains, sums, p);
            float mean = Rows.sum(p, one, 0, cols, 2, 2) * factor / cols, back = -factor * factor * mean;
            toRow(d, x, at, factor, gains, back, h, add);
            if (zr != 0) {
                float along = Rows.sum(h, zs, at, cols, 1, 1);
                throughPost(h, zs, at, cols, posts[row], along * posts[row] / cols, d);
            }
        }
        Rows.write(h, dh);
        Rows.write(sums, dgain);
        if (zr != 0) {
            Rows.write(d, dz);
        }
    }

    /** dgain += dy x r; p = dy (1 + gain) x. */
    private static void toGain(float[] dy, float[] x, int at, float r, float[] gain, float[] dgain, float[] p) {
        for (int i = 0; i < gain.length; i++) {
            float product = dy[at + i] * x[at + i];
            dgain[i] = Math.fma(product, r, dgain[i]);
            p[i] = Math.fma(product, gain[i], product);
        }
    }

    /** dh (+)= r dy (1 + gain) + back x. */
    private static void toRow(
            float[] dy, float[] x, int at, float r, float[] gain, float back, float[] dh, boolean add) {
        for (int i = 0; i < gain.length; i++) {
            float steep = Math.fma(dy[at + i], gain[i], dy[at + i]), v = Math.fma(steep, r, x[at + i] * back);
            dh[at + i] = add ? v + dh[at + i] : v;
        }
    }

    /** to = r (d - x r mean): through a norm without gain. */
    static void throughPost(float[] d, float[] x, int at, int n, float r, float mean, float[] to) {
        through(d, x, at, n, r, -r * r * mean, to);
    }

    /** to = r d + back x. */
    static void through(float[] d, float[] x, int at, int n, float r, float back, float[] to) {
        for (int i = at; i < at + n; i++) {
            to[i] = Math.fma(d[i], r, x[i] * back);
        }
    }
}
