package hypertransfer.djl;

import ai.djl.ndarray.NDArray;
import hypertransfer.core.Refusal;
import java.util.List;

/** What a gradient is turned into before the parameter moves against it. */
public sealed interface Direction {

    /** How many arrays of the parameter's shape it remembers between two steps; they start at zero. */
    int memory();

    /**
     * The direction u, on the gradient's manager. The memory is brought up to date in place.
     *
     * @param step the number of steps taken so far
     */
    NDArray of(NDArray gradient, List<NDArray> memory, long step);

    /** Muon as the paper has it: a mean of gradients with momentum 0.95, orthogonalised by Newton-Schulz. */
    static Direction muon() {
        return new Muon(0.95);
    }

    /** Adam with betas 0.9 and 0.95, epsilon 1e-10. */
    static Direction adam() {
        return new Adam(0.9, 0.95, 1e-10);
    }

    /** The orthogonalised mean {@code m <- momentum m + (1 - momentum) g}, which starts at the first gradient. */
    record Muon(double momentum) implements Direction {
        private static final int STEPS = 5;
        private static final double A = 3.4445;
        private static final double B = -4.7750;
        private static final double C = 2.0315;

        public Muon {
            fraction("momentum", momentum);
        }

        @Override
        public int memory() {
            return 1;
        }

        @Override
        public NDArray of(NDArray gradient, List<NDArray> memory, long step) {
            NDArray m = memory.getFirst();
            if (step == 0) {
                gradient.copyTo(m);
            } else {
                mix(m, momentum, gradient);
            }
            return orthogonalise(m);
        }

        /** Newton-Schulz: every singular value of m goes near 1. Iterates on the side with the smaller products. */
        static NDArray orthogonalise(NDArray m) {
            double norm = Measure.norm(m);
            if (norm == 0) {
                return m.zerosLike();
            }
            boolean tall = m.getShape().get(0) > m.getShape().get(1);
            NDArray x = (tall ? m.transpose() : m).div(norm);
            for (int i = 0; i < STEPS; i++) {
                NDArray last = x;
                // closed one by one: the scratch of a whole step would be ten times the matrix
                try (last;
                        NDArray turned = x.transpose();
                        NDArray a = x.matMul(turned);
                        NDArray square = a.matMul(a);
                        NDArray b = a.mul(B).addi(square.muli(C));
                        NDArray bx = b.matMul(x)) {
                    x = x.mul(A).addi(bx);
                }
            }
            return tall ? x.transpose() : x;
        }

        @Override
        public String toString() {
            return "muon(" + momentum + ")";
        }
    }

    /** {@code (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)}. */
    record Adam(double beta1, double beta2, double epsilon) implements Direction {
        public Adam {
            fraction("beta1", beta1);
            fraction("beta2", beta2);
            if (!(epsilon > 0 && epsilon < 1)) {
                throw new Refusal("Adam's epsilon is " + epsilon + "; it must be above 0 and below 1");
            }
        }

        @Override
        public int memory() {
            return 2;
        }

        @Override
        public NDArray of(NDArray gradient, List<NDArray> memory, long step) {
            NDArray m = memory.get(0);
            NDArray v = memory.get(1);
            mix(m, beta1, gradient);
            try (NDArray square = gradient.square()) {
                mix(v, beta2, square);
            }
            double c1 = 1 - Math.pow(beta1, step + 1);
            double c2 = 1 - Math.pow(beta2, step + 1);
            try (NDArray root = v.div(c2).sqrt()) {
                return m.div(c1).divi(root.addi(epsilon));
            }
        }

        @Override
        public String toString() {
            return "adam(" + beta1 + ", " + beta2 + ", " + epsilon + ")";
        }
    }

    private static void mix(NDArray mean, double beta, NDArray value) {
        try (NDArray part = value.mul(1 - beta)) {
            mean.muli(beta).addi(part);
        }
    }

    private static void fraction(String name, double value) {
        if (!(value >= 0 && value < 1)) {
            throw new Refusal(name + " is " + value + "; it must be from 0 to less than 1");
        }
    }
}
