package hypertransfer.train.optimizer;

import hypertransfer.core.Coefficients;
import hypertransfer.core.Limits;
import hypertransfer.core.ShapeFactor;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Motion.Iteration;
import hypertransfer.engine.Motion.Moments;
import hypertransfer.engine.Tensor;
import hypertransfer.train.Word;
import java.util.List;
import java.util.Map;

/**
 * How gradients become directions u. All work in place: the gradient's tensor holds the direction afterwards.
 *
 * <p>The configuration names those that are here. A direction of your own is an implementation of this interface in a
 * {@link Routing}. One direction serves all matrices, so it keeps nothing of them in its fields: what it remembers lives in
 * the tensors of {@link #memory}, which the optimizer declares and checkpoints save. Its result depends on the arguments
 * of {@link #apply} only. Then a resumed run is the uninterrupted one, bit for bit.
 */
public interface Direction {
    /** What it is, with its settings, for people: it stands in the routing table. */
    String label();

    /** A tensor that is remembered, by the name it has in files. */
    record Memory(String name, int rows, int cols) {}

    /**
     * The tensors that the direction of a matrix remembers between two steps: one of the matrix's shape, unless a direction says
     * otherwise. Each starts at zero.
     *
     * @param rows of the matrix
     * @param cols of the matrix
     */
    default List<Memory> memory(int rows, int cols) {
        return List.of(new Memory("momentum", rows, cols));
    }

    /**
     * Turns gradients into directions.
     *
     * @param engine the engine that the tensors belong to; {@code read} and {@code write} reach what has no operation
     * @param gradients one per matrix; afterwards they hold the directions
     * @param scale what each gradient is multiplied by first: the transfer's {@code gradientScale}, so that momenta see the
     *     scaled gradient
     * @param t the number of steps taken before this one, so 0 at the first
     * @param state for each of {@link #memory}, a tensor for each gradient, to be brought up to date in place
     */
    void apply(Engine engine, List<Tensor> gradients, double[] scale, long t, List<List<Tensor>> state);

    /** A factor of the direction that depends only on the matrix's shape. */
    default double factor(int rows, int cols) {
        return 1;
    }

    /** Momentum, orthogonalised. */
    record Muon(double momentum, boolean nesterov, Iteration iteration, ShapeFactor shape) implements Direction {
        static final Directions.Facts FACTS = new Directions.Facts(
                List.of("momentum", "nesterov", "coefficients", "bf16", "shape_factor"), Map.of(), Muon::of);

        static Muon of(Directions.Settings s) {
            return new Muon(s.momentum(), s.nesterov(), s.iteration(), s.shapeFactor());
        }

        public Muon {
            Limits.fraction("Muon's momentum", momentum);
        }

        /** The paper's: momentum 0.95, no Nesterov, five steps, no shape factor. */
        public static Muon standard() {
            return new Muon(0.95, false, iteration(Coefficients.JORDAN, 0), ShapeFactor.NONE);
        }

        /** Coefficients as engines take them. */
        public static Iteration iteration(Coefficients coefficients, int steps) {
            return new Iteration(
                    coefficients.steps(steps).stream()
                            .map(step -> new Iteration.Step(step.a(), step.b(), step.c()))
                            .toList(),
                    false);
        }

        @Override
        public String label() {
            return "Muon " + momentum + (nesterov ? " Nesterov" : "")
                    + (shape == ShapeFactor.NONE ? "" : " " + Word.of(shape) + " factor") + ", "
                    + iteration.label();
        }

        @Override
        public void apply(Engine engine, List<Tensor> g, double[] scale, long t, List<List<Tensor>> state) {
            engine.motion().momentum(g, scale, t == 0 ? 0 : momentum, nesterov, state.getFirst());
            engine.motion().orthogonalize(g, iteration);
        }

        @Override
        public double factor(int rows, int cols) {
            return shape.factor(rows, cols);
        }
    }

    /** Adam's quotient, with bias correction. */
    record Adam(double beta1, double beta2, double epsilon) implements Direction {
        static final Directions.Facts FACTS = new Directions.Facts(
                List.of("beta1", "beta2", "epsilon", "shape_factor"), // the last is ignored, as it always was
                Map.of(),
                s -> new Adam(s.beta1(), s.beta2(), s.epsilon()));

        public Adam {
            Limits.fraction("Adam's beta1", beta1);
            Limits.fraction("Adam's beta2", beta2);
            Limits.zeroOrMore("Adam's epsilon", epsilon);
        }

        /** The paper's. */
        public static Adam standard() {
            return new Adam(0.9, 0.95, 1e-10);
        }

        @Override
        public String label() {
            return "Adam " + beta1 + " " + beta2;
        }

        @Override
        public List<Memory> memory(int rows, int cols) {
            return List.of(new Memory("adam.m", rows, cols), new Memory("adam.v", rows, cols));
        }

        @Override
        public void apply(Engine engine, List<Tensor> g, double[] scale, long t, List<List<Tensor>> state) {
            Moments moments = new Moments(beta1, beta2, epsilon, t + 1);
            engine.motion().adam(g, scale, moments, state.get(0), state.get(1));
        }
    }

    /** The momentum itself, an exponential mean that starts at the first gradient. */
    record Sgd(double momentum, boolean nesterov) implements Direction {
        static final Directions.Facts FACTS = new Directions.Facts(
                List.of("momentum", "nesterov", "shape_factor"), // the last is ignored, as it always was
                Map.of(),
                s -> new Sgd(s.momentum(), s.nesterov()));

        public Sgd {
            Limits.fraction("SGD's momentum", momentum);
        }

        @Override
        public String label() {
            return "SGD " + momentum + (nesterov ? " Nesterov" : "");
        }

        @Override
        public void apply(Engine engine, List<Tensor> g, double[] scale, long t, List<List<Tensor>> state) {
            engine.motion().momentum(g, scale, t == 0 ? 0 : momentum, nesterov, state.getFirst());
        }
    }
}
