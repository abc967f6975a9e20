package hypertransfer.engine.reference;

import hypertransfer.engine.Layers.Nonlinearity;

/** What an MLP does between its matrices, after the post norms of its inputs. */
final class Activation {
    private static final double SQRT_2_PI = Math.sqrt(2 / Math.PI), CUBE = 0.044715;

    private Activation() {}

    static void forward(Array f, Array fr, Array s, Nonlinearity kind) {
        for (int n = 0; n < f.rows(); n++) {
            for (int i = 0; fr != null && i < kind.inputs(); i++) {
                fr.data()[fr.row(n) + i] = Rows.rms(f.data(), f.row(n) + i * s.cols(), s.cols());
            }
            double[] x = input(f, fr, n, 0, s.cols()), y = input(f, fr, n, kind.inputs() - 1, s.cols());
            for (int c = 0; c < s.cols(); c++) {
                s.data()[s.row(n) + c] = switch (kind) {
                    case RELU_SQUARED -> Math.max(0, x[c]) * Math.max(0, x[c]);
                    case GELU -> x[c] * (1 + StrictMath.tanh(bent(x[c]))) / 2;
                    case SWIGLU -> x[c] * sigmoid(x[c]) * y[c];
                };
            }
        }
    }

    static void backward(Array f, Array fr, Array ds, Array df, Nonlinearity kind) {
        int F = ds.cols();
        for (int n = 0; n < f.rows(); n++) {
            double[] x = input(f, fr, n, 0, F), y = input(f, fr, n, kind.inputs() - 1, F);
            for (int c = 0; c < F; c++) {
                double d = ds.data()[ds.row(n) + c];
                df.data()[df.row(n) + c] = switch (kind) {
                    case RELU_SQUARED -> d * (2 * Math.max(0, x[c]));
                    case GELU -> d * gelu(x[c]);
                    case SWIGLU -> d * silu(x[c]) * y[c];
                };
                if (kind == Nonlinearity.SWIGLU) {
                    df.data()[df.row(n) + F + c] = d * x[c] * sigmoid(x[c]);
                }
            }
            for (int i = 0; fr != null && i < kind.inputs(); i++) {
                Rows.throughNorm(df.data(), df.row(n) + i * F, i == 0 ? x : y, 0, fr.data()[fr.row(n) + i], F);
            }
        }
    }

    /** Input i of row n after its post norm. */
    private static double[] input(Array f, Array fr, int n, int i, int F) {
        double[] x = new double[F];
        Rows.add(fr == null ? 1 : fr.data()[fr.row(n) + i], f.data(), f.row(n) + i * F, x, 0, F);
        return x;
    }

    /** What GELU takes the hyperbolic tangent of. */
    private static double bent(double x) {
        return SQRT_2_PI * (x + CUBE * x * x * x);
    }

    private static double gelu(double x) {
        double t = StrictMath.tanh(bent(x));
        return (1 + t) / 2 + x * (1 - t * t) / 2 * SQRT_2_PI * (1 + 3 * CUBE * x * x);
    }

    private static double sigmoid(double x) {
        return 1 / (1 + StrictMath.exp(-x));
    }

    /** The derivative of x sigmoid(x). */
    private static double silu(double x) {
        return sigmoid(x) * (1 + x * (1 - sigmoid(x)));
    }
}
