package hypertransfer.engine.reference;

import hypertransfer.engine.Format;
import hypertransfer.engine.Motion.Iteration;

/** Newton-Schulz: X <- a X + (b A + c A A) X with A = X X^T, on the shorter side. */
final class NewtonSchulz {
    private NewtonSchulz() {}

    static double[] orthogonalize(double[] x, int rows, int cols, Iteration iteration) {
        double largest = 0; // divided out first, so that squares neither overflow nor vanish
        for (double value : x) {
            largest = Math.max(largest, Math.abs(value));
        }
        if (largest == 0) {
            return x.clone();
        }
        boolean tall = rows > cols;
        int m = Math.min(rows, cols), n = Math.max(rows, cols);
        double[] X = tall ? transpose(x, rows, cols) : x.clone();
        for (int i = 0; i < X.length; i++) {
            X[i] /= largest;
        }
        double norm = Math.sqrt(Rows.dot(X, 0, X, 0, X.length));
        for (int i = 0; i < X.length; i++) {
            X[i] = round(X[i] / norm, iteration);
        }
        for (Iteration.Step step : iteration.steps()) {
            double[] A = new double[m * m];
            for (int i = 0; i < m; i++) {
                for (int j = 0; j <= i; j++) {
                    A[i * m + j] = A[j * m + i] = round(Rows.dot(X, i * n, X, j * n, n), iteration);
                }
            }
            double[] B = new double[m * m];
            for (int i = 0; i < m; i++) {
                for (int j = 0; j <= i; j++) {
                    double square = Rows.dot(A, i * m, A, j * m, m); // A is symmetric
                    B[i * m + j] = B[j * m + i] = round(step.b() * A[i * m + j] + step.c() * square, iteration);
                }
            }
            double[] Y = new double[m * n];
            for (int i = 0; i < m; i++) {
                Rows.add(step.a(), X, i * n, Y, i * n, n);
                for (int j = 0; j < m; j++) {
                    Rows.add(B[i * m + j], X, j * n, Y, i * n, n);
                }
                for (int j = 0; j < n; j++) {
                    Y[i * n + j] = round(Y[i * n + j], iteration);
                }
            }
            X = Y;
        }
        return tall ? transpose(X, cols, rows) : X;
    }

    /** To the nearest bfloat16 where the iteration asks for it. */
    private static double round(double value, Iteration iteration) {
        return iteration.bf16() ? Format.toBf16((float) value) : value;
    }

    static double[] transpose(double[] x, int rows, int cols) {
        double[] t = new double[x.length];
        for (int i = 0; i < rows; i++) {
            for (int j = 0; j < cols; j++) {
                t[j * rows + i] = x[i * cols + j];
            }
        }
        return t;
    }
}
