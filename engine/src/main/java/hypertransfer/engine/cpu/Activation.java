package hypertransfer.engine.cpu;

import hypertransfer.engine.Layers.Nonlinearity;
import hypertransfer.engine.cpu.vector.Exp;
import hypertransfer.engine.cpu.vector.Lanes;
import jdk.incubator.vector.FloatVector;

/**
 * What an MLP does between its matrices, forward and backward, after the post norms of its inputs.
 *
 * @param f the inputs of a row beside each other
 * @param fr the factors of their post norms; 0: post is the identity
 */
record Activation(Nonlinearity kind, int rows, int cols, long f, long fr) {
    /** GELU with the hyperbolic tangent is x sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3)). */
    private static final float A = (float) (2 * Math.sqrt(2 / Math.PI)), B = A * 0.044715f;

    void forward(Pool pool, long s) {
        pool.each(rows, n -> {
            long row = s + 4L * n * cols, x = input(f, n, 0), y = input(f, n, 1);
            float post = fr == 0 ? 1 : Norms.factor(x, cols, factor(n, 0));
            switch (kind) {
                case RELU_SQUARED -> square(x, post, row, cols);
                case GELU -> gelu(x, post, row, cols);
                case SWIGLU -> swiglu(x, post, y, fr == 0 ? 1 : Norms.factor(y, cols, factor(n, 1)), row, cols);
            }
        });
    }

    void backward(Pool pool, long gradient, long df) {
        pool.each(rows, n -> {
            long ds = gradient + 4L * n * cols, x = input(f, n, 0), dx = input(df, n, 0);
            float post = fr == 0 ? 1 : Lanes.get(factor(n, 0));
            switch (kind) {
                case RELU_SQUARED -> throughPost(n, 0, df, slope(x, post, ds, dx, cols));
                case GELU -> {
                    geluBackward(x, post, ds, dx, cols);
                    throughPost(n, 0, df, Lanes.dot(dx, x, cols));
                }
                case SWIGLU -> {
                    long y = input(f, n, 1), dy = input(df, n, 1);
                    float second = fr == 0 ? 1 : Lanes.get(factor(n, 1));
                    swigluBackward(x, post, y, second, ds, dx, cols);
                    throughPost(n, 0, df, Lanes.dot(dx, x, cols));
                    throughPost(n, 1, df, Lanes.dot(dy, y, cols));
                }
            }
        });
    }

    /** Where input i of row n starts. */
    private long input(long inputs, int n, int i) {
        return inputs + 4L * ((long) n * kind.inputs() + i) * cols;
    }

    private long factor(int n, int i) {
        return fr + 4L * ((long) n * kind.inputs() + i);
    }

    /** From the gradient behind an input's post norm to the one before it; along is their sum of products with it. */
    private void throughPost(int n, int i, long df, float along) {
        if (fr != 0) {
            long d = input(df, n, i);
            float post = Lanes.get(factor(n, i));
            NormGradients.throughPost(d, input(f, n, i), post, along * post / cols, d, cols);
        }
    }

    /** s = relu(f r)^2. */
    private static void square(long f, float r, long s, int n) {
        long ds = s - f, whole = Lanes.whole(f, n), end = Lanes.end(f, n);
        for (; f < whole; f += Lanes.STEP) {
            FloatVector relu = Lanes.load(f).mul(r).max(0f);
            Lanes.store(relu.mul(relu), f + ds);
        }
        for (; f < end; f += 4) {
            float relu = Math.max(0, Lanes.get(f) * r);
            Lanes.put(f + ds, relu * relu);
        }
    }

    /** to = 2 d relu(f r); returns the sum of to f. */
    private static float slope(long f, float r, long d, long to, int n) {
        FloatVector sums = Lanes.zero();
        long dd = d - f, dt = to - f, whole = Lanes.whole(f, n), end = Lanes.end(f, n);
        for (; f < whole; f += Lanes.STEP) {
            FloatVector v = Lanes.load(f);
            FloatVector g = v.mul(2 * r).max(0f).mul(Lanes.load(f + dd));
            Lanes.store(g, f + dt);
            sums = g.fma(v, sums);
        }
        float sum = Lanes.sum(sums);
        for (; f < end; f += 4) {
            float g = Math.max(0, 2 * r * Lanes.get(f)) * Lanes.get(f + dd);
            Lanes.put(f + dt, g);
            sum += g * Lanes.get(f);
        }
        return sum;
    }

    /** s = gelu(f r). */
    private static void gelu(long f, float r, long s, int n) {
        long ds = s - f, whole = Lanes.whole(f, n), end = Lanes.end(f, n);
        for (; f < whole; f += Lanes.STEP) {
            FloatVector x = Lanes.load(f).mul(r);
            FloatVector bent = x.mul(x.mul(x).mul(B).add(A));
            Lanes.store(x.mul(Exp.sigmoid(bent)), f + ds);
        }
        for (; f < end; f += 4) {
            float x = Lanes.get(f) * r;
            Lanes.put(f + ds, x * Exp.sigmoid(x * (A + B * x * x)));
        }
    }

    /** to = d gelu'(f r). */
    private static void geluBackward(long f, float r, long d, long to, int n) {
        long dd = d - f, dt = to - f, whole = Lanes.whole(f, n), end = Lanes.end(f, n);
        for (; f < whole; f += Lanes.STEP) {
            FloatVector x = Lanes.load(f).mul(r), square = x.mul(x);
            FloatVector sigma = Exp.sigmoid(x.mul(square.mul(B).add(A)));
            FloatVector steep =
                    x.mul(square.mul(3 * B).add(A)).mul(sigma.mul(-1f).add(1f));
            Lanes.store(Lanes.load(f + dd).mul(sigma).mul(steep.add(1f)), f + dt);
        }
        for (; f < end; f += 4) {
            float x = Lanes.get(f) * r, sigma = Exp.sigmoid(x * (A + B * x * x));
            Lanes.put(f + dt, Lanes.get(f + dd) * sigma * (1 + x * (A + 3 * B * x * x) * (1 - sigma)));
        }
    }

    /** s = f rx sigmoid(f rx) g ry. */
    private static void swiglu(long f, float rx, long g, float ry, long s, int n) {
        long dg = g - f, ds = s - f, whole = Lanes.whole(f, n), end = Lanes.end(f, n);
        for (; f < whole; f += Lanes.STEP) {
            FloatVector x = Lanes.load(f).mul(rx), y = Lanes.load(f + dg).mul(ry);
            Lanes.store(x.mul(Exp.sigmoid(x)).mul(y), f + ds);
        }
        for (; f < end; f += 4) {
            float x = Lanes.get(f) * rx, y = Lanes.get(f + dg) * ry;
            Lanes.put(f + ds, x * Exp.sigmoid(x) * y);
        }
    }

    /** The gradient at x into to, the one at y beside it. */
    private static void swigluBackward(long f, float rx, long g, float ry, long d, long to, int n) {
        long dg = g - f, dd = d - f, dt = to - f, whole = Lanes.whole(f, n), end = Lanes.end(f, n);
        for (; f < whole; f += Lanes.STEP) {
            FloatVector x = Lanes.load(f).mul(rx), y = Lanes.load(f + dg).mul(ry), sigma = Exp.sigmoid(x);
            FloatVector in = Lanes.load(f + dd).mul(sigma),
                    steep = x.mul(sigma.mul(-1f).add(1f)).add(1f);
            Lanes.store(in.mul(steep).mul(y), f + dt);
            Lanes.store(in.mul(x), f + dt + dg);
        }
        for (; f < end; f += 4) {
            float x = Lanes.get(f) * rx, y = Lanes.get(f + dg) * ry, sigma = Exp.sigmoid(x);
            float in = Lanes.get(f + dd) * sigma;
            Lanes.put(f + dt, in * (1 + x * (1 - sigma)) * y);
            Lanes.put(f + dt + dg, in * x);
        }
    }
}
