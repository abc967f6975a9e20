package hypertransfer.engine.cpu.loop;

import hypertransfer.engine.cpu.vector.Lanes;

/** relu squared of some rows behind their post norms, by loops; fr = 0: there is none. */
public final class ActivationRows {
    private ActivationRows() {}

    /** s = relu(f r)^2. */
    public static void forward(int rows, int cols, long f, long fr, long s) {
        float[] x = Rows.read(f, rows * cols), factors = new float[rows];
        for (int row = 0; row < rows; row++) {
            int at = row * cols;
            float factor = fr == 0 ? 1 : Lanes.rms(Rows.dot(x, x, at, cols), cols);
            factors[row] = factor;
            square(x, at, cols, factor);
        }
        Rows.write(x, s);
        if (fr != 0) {
            Rows.write(factors, fr);
        }
    }

    /** df = the gradient at f, given ds. */
    public static void backward(int rows, int cols, long f, long fr, long ds, long df) {
        int n = rows * cols;
        float[] x = Rows.read(f, n), d = Rows.read(ds, n), factors = fr == 0 ? null : Rows.read(fr, rows);
        for (int row = 0; row < rows; row++) {
            int at = row * cols;
            float factor = fr == 0 ? 1 : factors[row];
            slope(x, d, at, cols, 2 * factor);
            if (fr != 0) {
                float along = Rows.sum(d, x, at, cols, 1, 1);
                NormRows.throughPost(d, x, at, cols, factor, along * factor / cols, d);
            }
        }
        Rows.write(d, df);
    }

    private static void square(float[] x, int at, int n, float r) {
        for (int i = at; i < at + n; i++) {
            float relu = Math.max(x[i] * r, 0);
            x[i] = relu * relu;
        }
    }

    /** d = d relu(twice f). */
    private static void slope(float[] x, float[] d, int at, int n, float twice) {
        for (int i = at; i < at + n; i++) {
            d[i] = Math.max(x[i] * twice, 0) * d[i];
        }
    }
}
