package hypertransfer.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.Shape;
import hypertransfer.core.Coefficients;
import hypertransfer.core.Limits;
import hypertransfer.core.Refusal;
import hypertransfer.core.ShapeFactor;
import java.util.List;
import java.util.Locale;

/**
 * What a gradient is turned into before the parameter moves against it. Muon and Adam are here, {@link Lion}, {@link
 * Signum}, {@link NorMuon}, {@link AdaMuon} and {@link Soap} beside it; a direction of your own is an implementation of this interface,
 * and any {@link Rule} takes it.
 *
 * <p>One direction serves all parameters of a rule, so it keeps nothing of them in its fields: what it remembers of a
 * parameter lives in the arrays of {@link #memory}, which the optimizer makes, saves and restores. Its answer depends on
 * the arguments of {@link #of} only. Then a resumed run is the uninterrupted one, bit for bit.
 */
public interface Direction {
    /**
     * What it is, with its settings, e.g. {@code adam(0.9, 0.95, 1.0E-10)}. It stands in the routing table and in saved
     * states: a state is restored only under the signature it was saved with. So two directions that understand each
     * other's memory have the same one, all others have different ones, and it stays the same from version to version.
     *
     * @return the signature, at most a few hundred characters
     */
    String signature();

    /**
     * The arrays it remembers between two steps. They start at zero and have the parameter's data type.
     *
     * @param parameter the parameter's shape
     * @return the shape of each array, each with at least one element; empty if it remembers nothing. The default remembers
     *     one array of the parameter's shape
     */
    default List<Shape> memory(Shape parameter) {
        return List.of(parameter);
    }

    /**
     * The direction u of one step, called once per parameter and device. Parameters of different names may be
     * updated by different threads at the same time.
     *
     * @param gradient the gradient, already scaled as the transfer asks; it must not be changed
     * @param memory the arrays of {@link #memory}, in its order, to be brought up to date in place
     * @param step the number of steps the parameter has taken so far, so 0 at the first
     * @return an array of the gradient's shape and type: a new one, the gradient, or one of the memory's, which the
     *     optimizer only reads. New arrays are freed at the end of the step; large ones are better closed at once
     */
    NDArray of(NDArray gradient, List<NDArray> memory, long step);

    /**
     * Refuses parameters that it cannot train, before the first step.
     *
     * @param name the parameter's name, for the message
     * @param parameter its shape
     * @throws Refusal if it cannot train a parameter of this shape; the default takes any
     */
    default void check(String name, Shape parameter) {}

    /**
     * Muon as the paper has it: a mean of gradients with momentum 0.95, orthogonalised by Newton-Schulz. That of PyTorch is {@code
     * Direction.muon().withNesterov().withShape(ShapeFactor.TALL)}.
     *
     * @return the direction
     */
    static Muon muon() {
        return new Muon(0.95);
    }

    /** {@return Adam with betas 0.9 and 0.95, epsilon 1e-10} */
    static Adam adam() {
        return new Adam(0.9, 0.95, 1e-10);
    }

    /**
     * The orthogonalised mean {@code m <- momentum m + (1 - momentum) g}, which starts at the first gradient.
     *
     * @param momentum from 0 to less than 1
     * @param nesterov whether {@code momentum m + (1 - momentum) g} is orthogonalised instead
     * @param coefficients of Newton-Schulz
     * @param steps of Newton-Schulz, or 0 for the usual number
     * @param shape the factor for the matrix's shape
     */
    record Muon(double momentum, boolean nesterov, Coefficients coefficients, int steps, ShapeFactor shape)
            implements Direction {
        /** Refuses a momentum or a number of steps out of range. */
        public Muon {
            Limits.fraction("momentum", momentum);
            coefficients.steps(steps);
        }

        /**
         * Muon as the paper has it, with another momentum.
         *
         * @param momentum from 0 to less than 1
         */
        public Muon(double momentum) {
            this(momentum, false, Coefficients.JORDAN, 0, ShapeFactor.NONE);
        }

        /** {@return the same with a look ahead by one more gradient} */
        public Muon withNesterov() {
            return new Muon(momentum, true, coefficients, steps, shape);
        }

        /**
         * The same with another factor for the matrix's shape.
         *
         * @param factor of the shape
         * @return the changed direction
         */
        public Muon withShape(ShapeFactor factor) {
            return new Muon(momentum, nesterov, coefficients, steps, factor);
        }

        @Override
        public String signature() {
            return "muon(" + momentum + (nesterov ? ", nesterov" : "")
                    + (coefficients == Coefficients.JORDAN ? "" : ", " + label(coefficients))
                    + (steps == 0 ? "" : ", " + steps + " steps")
                    + (shape == ShapeFactor.NONE ? "" : ", " + label(shape)) + ")";
        }

        private static String label(Enum<?> value) {
            return value.name().toLowerCase(Locale.ROOT).replace('_', '-');
        }

        @Override
        public void check(String name, Shape parameter) {
            matrix(name, parameter, "Muon orthogonalises matrices");
        }

        @Override
        public NDArray of(NDArray gradient, List<NDArray> memory, long step) {
            double factor =
                    shape.factor(gradient.getShape().get(0), gradient.getShape().get(1));
            try (Means mean = Means.momentum(gradient, memory.getFirst(), momentum, nesterov, step)) {
                NDArray u = orthogonalise(mean.value());
                return factor == 1 ? u : u.muli(factor);
            }
        }

        static void matrix(String name, Shape parameter, String why) {
            if (parameter.dimension() != 2) {
                throw new Refusal(
                        name + " has shape " + parameter + ", and " + why + "; choose an Adam direction for it");
            }
        }

        /** Newton-Schulz: every singular value of m goes near 1. Iterates on the side with the smaller products. */
        NDArray orthogonalise(NDArray m) {
            double norm = Measure.norm(m);
            if (norm == 0) {
                return m.zerosLike();
            }
            boolean tall = m.getShape().get(0) > m.getShape().get(1);
            NDArray x = (tall ? m.transpose() : m).div(norm);
            for (Coefficients.Step step : coefficients.steps(steps)) {
                NDArray last = x;
                // closed one by one: the scratch of a whole step would be ten times the matrix
                try (last;
                        NDArray turned = x.transpose();
                        NDArray a = x.matMul(turned);
                        NDArray square = a.matMul(a);
                        NDArray b = a.mul(step.b()).addi(square.muli(step.c()));
                        NDArray bx = b.matMul(x)) {
                    x = x.mul(step.a()).addi(bx);
                }
            }
            return tall ? x.transpose() : x;
        }
    }

    /**
     * {@code (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)}.
     *
     * @param beta1 of the mean of gradients m, from 0 to less than 1
     * @param beta2 of the mean of squares v, from 0 to less than 1
     * @param epsilon finite, zero or more; with zero an entry that never had a gradient is 0/0, and the step refuses it
     */
    record Adam(double beta1, double beta2, double epsilon) implements Direction {
        /** Refuses what is out of range. */
        public Adam {
            Limits.fraction("beta1", beta1);
            Limits.fraction("beta2", beta2);
            Limits.zeroOrMore("Adam's epsilon", epsilon);
        }

        @Override
        public String signature() {
            return "adam(" + beta1 + ", " + beta2 + ", " + epsilon + ")";
        }

        @Override
        public List<Shape> memory(Shape parameter) {
            return List.of(parameter, parameter);
        }

        @Override
        public NDArray of(NDArray gradient, List<NDArray> memory, long step) {
            NDArray m = memory.get(0);
            NDArray v = memory.get(1);
            Means.mix(m, beta1, gradient);
            try (NDArray square = gradient.square()) {
                Means.mix(v, beta2, square);
            }
            double c1 = 1 - Math.pow(beta1, step + 1);
            double c2 = 1 - Math.pow(beta2, step + 1);
            try (NDArray root = v.div(c2).sqrt()) {
                return m.div(c1).divi(root.addi(epsilon));
            }
        }
    }
}
