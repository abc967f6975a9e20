package hypertransfer.engine.reference;

import java.util.Arrays;

/** Gram matrices, and the bases that turn towards their eigenvectors. */
final class Bases {
    private Bases() {}

    static void gram(Array g, double scale, double beta, Array left, Array right) {
        double[] G = Arrays.stream(g.read()).map(x -> scale * x).toArray();
        add(G, g.rows(), g.cols(), beta, left);
        add(NewtonSchulz.transpose(G, g.rows(), g.cols()), g.cols(), g.rows(), beta, right);
    }

    /** P = beta P + (1 - beta) G G^T. */
    private static void add(double[] G, int rows, int cols, double beta, Array P) {
        for (int i = 0; i < P.rows() && P.size() > 1; i++) {
            for (int j = 0; j < rows; j++) {
                double product = Rows.dot(G, i * cols, G, j * cols, cols);
                P.data()[P.row(i) + j] = beta * P.data()[P.row(i) + j] + (1 - beta) * product;
            }
        }
    }

    static void rotate(Array g, Array left, Array right, boolean back) {
        int rows = g.rows(), cols = g.cols();
        double[] across = NewtonSchulz.transpose(turned(left, g.read(), rows, cols, back), rows, cols);
        g.write(NewtonSchulz.transpose(turned(right, across, cols, rows, back), cols, rows));
    }

    /** B X, or B^T X. */
    private static double[] turned(Array B, double[] X, int rows, int cols, boolean back) {
        if (B.size() == 1) {
            return X;
        }
        double[] basis = back ? NewtonSchulz.transpose(B.read(), rows, rows) : B.read();
        double[] product = new double[X.length];
        for (int i = 0; i < rows; i++) {
            for (int j = 0; j < rows; j++) {
                Rows.add(basis[i * rows + j], X, j * cols, product, i * cols, cols);
            }
        }
        return product;
    }

    static void refine(Array gram, double shift, Array basis) {
        int n = gram.rows();
        double[] P = gram.read(), Q = basis.read(), S = new double[n * n];
        for (int i = 0; i < n && n > 1; i++) {
            for (int j = 0; j < n; j++) {
                S[i * n + j] = Rows.dot(P, j * n, Q, i * n, n) + shift * Q[i * n + j];
            }
            for (int twice = 0; twice < 2; twice++) { // so that what rounding leaves of the rows above goes too
                for (int j = 0; j < i; j++) {
                    Rows.add(-Rows.dot(S, i * n, S, j * n, n), S, j * n, S, i * n, n);
                }
                double norm = Math.sqrt(Rows.dot(S, i * n, S, i * n, n));
                for (int j = 0; j < n && norm > 0; j++) {
                    S[i * n + j] /= norm;
                }
            }
        }
        basis.write(n > 1 ? S : Q);
    }
}
