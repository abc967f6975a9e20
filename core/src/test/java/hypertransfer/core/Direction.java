package hypertransfer.core;

/** From gradients to update directions, with the state that makes the theorem more than one step long. */
sealed interface Direction {
    double[] of(double[] gradient);

    /** The average of gradients, starting at the first: m0 = g0. */
    final class Momentum implements Direction {
        private final double beta;
        private double[] m;

        Momentum(double beta) {
            this.beta = beta;
        }

        @Override
        public double[] of(double[] g) {
            m = m == null ? g : Explicit.sum(beta, m, 1 - beta, g);
            return m;
        }
    }

    /** Adam with bias correction. Its epsilon is large enough here to see the gradient's scale. */
    final class Adam implements Direction {
        private static final double BETA1 = 0.9;
        private static final double BETA2 = 0.95;
        private static final double EPSILON = 1e-3;
        private final double[] m = new double[Landscape.SIZE];
        private final double[] v = new double[Landscape.SIZE];
        private int t;

        @Override
        public double[] of(double[] g) {
            t++;
            double[] u = new double[g.length];
            for (int i = 0; i < g.length; i++) {
                m[i] = BETA1 * m[i] + (1 - BETA1) * g[i];
                v[i] = BETA2 * v[i] + (1 - BETA2) * g[i] * g[i];
                double mean = m[i] / (1 - Math.pow(BETA1, t));
                double square = v[i] / (1 - Math.pow(BETA2, t));
                u[i] = mean / (Math.sqrt(square) + EPSILON);
            }
            return u;
        }
    }

    /** Momentum, then five Newton-Schulz steps: X <- a X + (b A + c A A) X with A = X X^T. */
    final class Muon implements Direction {
        static final int ROWS = 4;
        static final int COLUMNS = 6;
        private final Momentum momentum = new Momentum(0.95);

        @Override
        public double[] of(double[] g) {
            double[] m = momentum.of(g);
            double[] x = Explicit.scaled(1 / Explicit.norm(m), m);
            for (int i = 0; i < 5; i++) {
                double[] a = new double[ROWS * ROWS];
                for (int r = 0; r < ROWS; r++) {
                    for (int s = 0; s < ROWS; s++) {
                        for (int c = 0; c < COLUMNS; c++) {
                            a[r * ROWS + s] += x[r * COLUMNS + c] * x[s * COLUMNS + c];
                        }
                    }
                }
                double[] polynomial = Explicit.sum(-4.7750, a, 2.0315, product(a, a, ROWS));
                x = Explicit.sum(3.4445, x, 1, product(polynomial, x, COLUMNS));
            }
            return x;
        }

        /** [ROWS, ROWS] times [ROWS, columns]. */
        private static double[] product(double[] a, double[] x, int columns) {
            double[] y = new double[ROWS * columns];
            for (int r = 0; r < ROWS; r++) {
                for (int k = 0; k < ROWS; k++) {
                    for (int c = 0; c < columns; c++) {
                        y[r * columns + c] += a[r * ROWS + k] * x[k * columns + c];
                    }
                }
            }
            return y;
        }
    }
}
