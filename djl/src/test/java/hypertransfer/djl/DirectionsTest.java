package hypertransfer.djl;

import static hypertransfer.djl.TinyTraining.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import hypertransfer.core.Coefficients;
import hypertransfer.core.Mode;
import hypertransfer.core.ShapeFactor;
import hypertransfer.djl.Direction.Muon;
import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Motion.Iteration;
import hypertransfer.engine.Motion.Moments;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.provider.Engines;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Each direction against the reference engine's operations, and its transfer against its target. */
@Torch
class DirectionsTest {
    private static final int ROWS = 6, COLS = 4;
    private static final Muon POLAR = new Muon(0.9, true, Coefficients.POLAR_EXPRESS, 6, ShapeFactor.RMS);
    private static final double RMS = 0.2 * Math.sqrt(6);

    /** A gradient, a mean, moments of two shapes, and what the two sides remember. */
    private static final class Tensors {
        final List<Tensor> g, m, v, rows, left, right, leftBasis, rightBasis;

        Tensors(Engine engine) {
            g = one(engine, Role.GRADIENT, ROWS, COLS);
            m = one(engine, Role.STATE, ROWS, COLS);
            v = one(engine, Role.STATE, ROWS, COLS);
            rows = one(engine, Role.STATE, ROWS, 1);
            left = one(engine, Role.STATE, ROWS, ROWS);
            right = one(engine, Role.STATE, COLS, COLS);
            leftBasis = one(engine, Role.STATE, ROWS, ROWS);
            rightBasis = one(engine, Role.STATE, COLS, COLS);
        }

        private static List<Tensor> one(Engine engine, Role role, int rows, int cols) {
            return List.of(engine.tensor(role, "x", rows, cols));
        }
    }

    /** What the direction is in the operations of the engine. */
    private interface Written {
        void step(Engine engine, Tensors tensors, int t);
    }

    private record Case(Direction direction, String signature, double factor, Written written) {
        Case(Direction direction, String signature, Written written) {
            this(direction, signature, 1, written);
        }

        @Override
        public String toString() {
            return signature;
        }
    }

    static Stream<Case> cases() {
        double[] one = {1};
        return Stream.of(
                new Case(
                        new Lion(0.9, 0.99),
                        "lion(0.9, 0.99)",
                        (e, s, t) -> e.motion().sign(s.g, one, 0.9, 0.99, s.m)),
                new Case(
                        new Signum(0.9, false),
                        "signum(0.9)",
                        (e, s, t) -> e.motion().sign(s.g, one, t == 0 ? 0 : 0.9, t == 0 ? 0 : 0.9, s.m)),
                new Case(
                        new Signum(0.5, true),
                        "signum(0.5, nesterov)",
                        (e, s, t) -> e.motion().sign(s.g, one, t == 0 ? 0 : 0.25, t == 0 ? 0 : 0.5, s.m)),
                new Case(
                        new Muon(0.95, true, Coefficients.CONVERGENT, 0, ShapeFactor.NONE),
                        "muon(0.95, nesterov, convergent)",
                        (e, s, t) -> {
                            e.motion().momentum(s.g, one, t == 0 ? 0 : 0.95, true, s.m);
                            e.motion().orthogonalize(s.g, iteration(Coefficients.CONVERGENT, 0));
                        }),
                new Case(POLAR, "muon(0.9, nesterov, polar-express, 6 steps, rms)", RMS, (e, s, t) -> {
                    e.motion().momentum(s.g, one, t == 0 ? 0 : 0.9, true, s.m);
                    e.motion().orthogonalize(s.g, iteration(Coefficients.POLAR_EXPRESS, 6));
                }),
                new Case(new NorMuon(new Muon(0.95), 0.95, 1e-10), "normuon(0.95)(0.95, 1.0E-10)", (e, s, t) -> {
                    e.motion().momentum(s.g, one, t == 0 ? 0 : 0.95, false, s.m);
                    e.motion().orthogonalize(s.g, iteration(Coefficients.JORDAN, 0));
                    e.motion().equalize(s.g, 0.95, 1e-10, null, s.rows);
                }),
                new Case(new AdaMuon(new Muon(0.95), 0.9, 1e-8), "adamuon(0.95)(0.9, 1.0E-8)", (e, s, t) -> {
                    e.motion().sign(s.g, one, t == 0 ? 0 : 0.95, t == 0 ? 0 : 0.95, s.m);
                    e.motion().orthogonalize(s.g, iteration(Coefficients.JORDAN, 0));
                    e.motion().equalize(s.g, 0.9, 1e-8, new double[] {0.2 * Math.sqrt(ROWS * COLS)}, s.v);
                }),
                new Case(
                        new Soap(new Direction.Adam(0.9, 0.95, 1e-6), 0.9, 2, ROWS),
                        "soap(adam(0.9, 0.95, 1.0E-6), 0.9, 2, 6)",
                        DirectionsTest::soap));
    }

    /** Both bases come from the identity in ten turns, and take one more before the fourth and the fifth step. */
    private static void soap(Engine e, Tensors s, int t) {
        double[] one = {1};
        e.motion().gram(s.g, one, 0.9, s.left, s.right);
        if (t == 0) {
            e.write(s.leftBasis.getFirst(), unit(ROWS));
            e.write(s.rightBasis.getFirst(), unit(COLS));
            for (int turn = 0; turn < 10; turn++) {
                turn(e, s.left, s.leftBasis);
                turn(e, s.right, s.rightBasis);
            }
            e.zero(s.g);
            return;
        }
        e.motion().rotate(s.g, s.leftBasis, s.rightBasis, false);
        e.motion().adam(s.g, one, new Moments(0.9, 0.95, 1e-6, t), s.m, s.v);
        e.motion().rotate(s.g, s.leftBasis, s.rightBasis, true);
        if (t % 2 == 0) {
            e.motion().rotate(s.m, s.leftBasis, s.rightBasis, true);
            turn(e, s.left, s.leftBasis);
            turn(e, s.right, s.rightBasis);
            e.motion().rotate(s.m, s.leftBasis, s.rightBasis, false);
        }
    }

    private static void turn(Engine e, List<Tensor> gram, List<Tensor> basis) {
        double norm = e.motion().readings(gram, gram)[0];
        double shift = 1e-3 * norm / Math.sqrt(gram.getFirst().rows());
        e.motion().refine(gram, new double[] {shift}, basis);
    }

    private static double[] unit(int n) {
        double[] unit = new double[n * n];
        for (int i = 0; i < n; i++) {
            unit[i * (n + 1)] = 1;
        }
        return unit;
    }

    private static Iteration iteration(Coefficients coefficients, int steps) {
        return new Iteration(
                coefficients.steps(steps).stream()
                        .map(step -> new Iteration.Step(step.a(), step.b(), step.c()))
                        .toList(),
                false);
    }

    @ParameterizedTest
    @MethodSource("cases")
    void isWhatTheReferenceEngineComputes(Case c) {
        assertThat(c.direction.signature()).isEqualTo(c.signature);
        Random random = new Random(2);
        try (Engine engine = Engines.open("reference", new Dims(1, 1, 8, 2, 1));
                NDManager manager = NDManager.newBaseManager("PyTorch")) {
            Tensors tensors = new Tensors(engine);
            Tensor g = tensors.g.getFirst();
            engine.commit();
            Shape shape = new Shape(ROWS, COLS);
            List<NDArray> memory = new ArrayList<>();
            for (Shape array : c.direction.memory(shape)) {
                memory.add(manager.zeros(array, DataType.FLOAT64));
            }
            for (int t = 0; t < 5; t++) {
                double[] gradient = random.doubles(ROWS * COLS, -1, 1).toArray();
                engine.write(g, gradient);
                c.written.step(engine, tensors, t);
                double[] expected = engine.read(g);
                for (int i = 0; i < expected.length; i++) {
                    expected[i] *= c.factor;
                }
                NDArray given = manager.create(gradient, shape);
                assertThat(c.direction.of(given, memory, t).toDoubleArray())
                        .as("step %d", t)
                        .containsExactly(expected, within(1e-12));
                assertThat(given.toDoubleArray())
                        .as("the gradient is not changed")
                        .isEqualTo(gradient);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("cases")
    void aTransferFollowsItsTarget(Case c) {
        assertThat(losses(c.direction, Mode.HYPERTRANSFER))
                .containsExactly(losses(c.direction, Mode.BASE), within(1e-9));
    }

    private static double[] losses(Direction direction, Mode mode) {
        Rule hidden = new Rule(direction, mode.transfer(0.1), (id, step) -> 0.01);
        return losses(TinyWeights.seeded(7), true, hidden, 10);
    }

    /** The projection starts at zero; Muon carried by a Hyperball of a given radius follows Muon. */
    @Test
    void aTransferFollowsItsTargetFromZero() {
        TinyWeights start = TinyWeights.seeded(7);
        Map<String, double[]> values = new LinkedHashMap<>(start.values());
        values.put("proj", new double[values.get("proj").length]);
        TinyWeights zero = new TinyWeights(values, start.inputs(), start.targets());
        Rate rate = (id, step) -> 0.02;
        Rule muon = Rule.muon(rate, 0.1);
        double[] base = losses(zero, false, muon, 12);
        assertThat(losses(zero, false, muon.in(Mode.HYPERTRANSFER_PLUS, 0.1).fromZero(3), 12))
                .containsExactly(base, within(1e-9));
        assertThat(losses(zero, false, Rule.muonH(rate).fromZero(3), 12)[11]).isNotCloseTo(base[11], within(1e-4));
        refused(() -> losses(zero, false, Rule.muonH(rate), 1), "proj", "start it from zero with a given radius");
        refused(() -> Rule.muonH(rate).fromZero(-1), "the radius from zero is -1.0");
    }

    private static double[] losses(TinyWeights start, boolean invariant, Rule hidden, int steps) {
        Rule rest = Rule.adamW((id, step) -> 0.01, 0.1);
        try (TinyTraining training = new TinyTraining(start, invariant, DataType.FLOAT64, hidden, rest)) {
            return training.run(0, steps);
        }
    }

    @Test
    void settingsOutOfRangeAreRefused() {
        refused(() -> new Lion(0.9, 1), "beta2 is 1.0");
        refused(() -> new Signum(-1, false), "momentum is -1.0");
        refused(() -> new NorMuon(new Muon(0.9), 0.9, 0), "NorMuon's epsilon is 0.0");
        refused(() -> new AdaMuon(new Muon(0.9), 0.9, Double.NaN), "AdaMuon's epsilon is NaN");
        refused(() -> new Soap(new Direction.Adam(0.9, 0.9, 0), 0.9, 10, 99), "SOAP's epsilon is 0.0");
        refused(
                () -> new Soap(new Direction.Adam(0.9, 0.9, 1e-8), 0.9, 0, 99),
                "SOAP's frequency is 0 and its largest side 99");
        refused(
                () -> new Soap(new Direction.Adam(0.9, 0.9, 1e-8), 0.9, 10, 99).check("gain", new Shape(8)),
                "gain has shape (8), and SOAP has bases for matrices");
        refused(
                () -> new Muon(0.9, false, Coefficients.JORDAN, -1, ShapeFactor.NONE),
                "Newton-Schulz is asked for -1 steps");
        refused(
                () -> new NorMuon(new Muon(0.9), 0.9, 1e-8).check("gain", new Shape(8)),
                "gain has shape (8), and Muon orthogonalises matrices");
    }
}
