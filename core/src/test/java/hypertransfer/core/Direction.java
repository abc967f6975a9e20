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

    /** Momentum of a given length, whatever the gradient's scale, as Muon's directions are. */
    final class Normalized implements Direction {
        private final Momentum momentum = new Momentum(0.95);

        @Override
        public double[] of(double[] g) {
            double[] m = momentum.of(g);
            return Explicit.scaled(2 / Explicit.norm(m), m);
        }
    }
}
