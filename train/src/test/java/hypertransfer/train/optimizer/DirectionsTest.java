package hypertransfer.train.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.core.Coefficients;
import hypertransfer.core.Mode;
import hypertransfer.core.Refusal;
import hypertransfer.core.ShapeFactor;
import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Iteration;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.provider.Engines;
import hypertransfer.train.Rig;
import hypertransfer.train.network.Variant;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Directions that no golden trajectory pins are written out here; the transfers of all follow their targets. */
class DirectionsTest {
    private static final Iteration POLAR = Direction.Muon.iteration(Coefficients.POLAR_EXPRESS, 7);
    private static final int ROWS = 4, COLS = 6, N = ROWS * COLS;

    static Stream<Direction> all() {
        return Stream.of(
                Lion.standard(),
                Signum.standard(),
                new Signum(0.8, true),
                new Direction.Sgd(0.9, true),
                new Direction.Muon(0.9, true, POLAR, ShapeFactor.TALL),
                NorMuon.standard(),
                new NorMuon(new Direction.Muon(0.9, true, POLAR, ShapeFactor.RMS), 0.9, 1e-8),
                new AdaMuon(0.95, true, POLAR, 0.9, 1e-8));
    }

    /** In every mode that is exact on M1, and one that is another optimizer. */
    @ParameterizedTest
    @MethodSource("all")
    void transfersFollowTheirTargets(Direction direction) {
        double[] base = losses(direction, Mode.BASE), ball = losses(direction, Mode.HYPERBALL);
        assertThat(losses(direction, Mode.HYPERTRANSFER)).containsExactly(base, within(1e-9));
        assertThat(losses(direction, Mode.HYPERTRANSFER_PLUS)).containsExactly(base, within(1e-9));
        assertThat(losses(direction, Mode.INVERSE_HYPERTRANSFER)).containsExactly(ball, within(1e-9));
        assertThat(ball[11]).isNotCloseTo(base[11], within(1e-4));
    }

    private static double[] losses(Direction direction, Mode mode) {
        double[] losses = new double[12];
        try (Rig rig = new Rig(Variant.M1, Routing.standard(direction, mode.transfer(0.1)))) {
            for (int t = 0; t < losses.length; t++) {
                rig.gradient();
                losses[t] = rig.network.meanLoss();
                rig.optimizer.step(0.01, 0.01);
            }
        }
        return losses;
    }

    /** A direction's steps over random gradients, beside what is written out. */
    private interface Written {
        double[] step(double[] g, int t, Engine engine);
    }

    private static void same(Direction direction, Written written) {
        try (Engine engine = Engines.open("reference", new Dims(1, 1, 8, 2, 1))) {
            Tensor g = engine.tensor(Role.GRADIENT, "g", ROWS, COLS);
            List<List<Tensor>> state = direction.memory().stream()
                    .map(name -> direction.extent(name, ROWS, COLS))
                    .map(extent -> List.of(engine.tensor(Role.STATE, "state", extent.rows(), extent.cols())))
                    .toList();
            engine.commit();
            Random random = new Random(3);
            for (int t = 0; t < 4; t++) {
                double[] gradient = random.doubles(N, -1, 1).toArray();
                engine.write(g, Arrays.stream(gradient).map(x -> x / 0.7).toArray());
                direction.apply(engine, List.of(g), new double[] {0.7}, t, state);
                assertThat(engine.read(g))
                        .as("step %d", t)
                        .containsExactly(written.step(gradient, t, engine), within(1e-12));
            }
        }
    }

    @Test
    void signumWithNesterov() {
        double[] m = new double[N];
        same(new Signum(0.8, true), (g, t, engine) -> {
            double[] u = new double[N];
            for (int i = 0; i < N; i++) {
                m[i] = t == 0 ? g[i] : 0.8 * m[i] + 0.2 * g[i];
                u[i] = Math.signum(0.8 * m[i] + 0.2 * g[i]);
            }
            return u;
        });
    }

    @Test
    void adaMuon() {
        double[] m = new double[N], v = new double[N];
        same(new AdaMuon(0.95, false, POLAR, 0.9, 1e-8), (g, t, engine) -> {
            for (int i = 0; i < N; i++) {
                m[i] = t == 0 ? g[i] : 0.95 * m[i] + 0.05 * g[i];
            }
            double[] u = orthogonalized(Arrays.stream(m).map(Math::signum).toArray());
            double squares = 0;
            for (int i = 0; i < N; i++) {
                v[i] = 0.9 * v[i] + 0.1 * u[i] * u[i];
                u[i] /= Math.sqrt(v[i]) + 1e-8;
                squares += u[i] * u[i];
            }
            double factor = 0.2 * Math.sqrt(N) / (Math.sqrt(squares) + 1e-8);
            return Arrays.stream(u).map(x -> factor * x).toArray();
        });
    }

    private static double[] orthogonalized(double[] x) {
        try (Engine engine = Engines.open("reference", new Dims(1, 1, 8, 2, 1))) {
            Tensor tensor = engine.tensor(Role.GRADIENT, "x", ROWS, COLS);
            engine.commit();
            engine.write(tensor, x);
            engine.orthogonalize(List.of(tensor), POLAR);
            return engine.read(tensor);
        }
    }

    @ParameterizedTest
    @EnumSource
    void stepsAreTheFirstOfTheSequenceAndThenTheLast(Coefficients coefficients) {
        List<Coefficients.Step> usual = coefficients.steps();
        assertThat(coefficients.steps(0)).isEqualTo(usual);
        assertThat(coefficients.steps(3)).isEqualTo(usual.subList(0, 3));
        assertThat(coefficients.steps(usual.size() + 2))
                .hasSize(usual.size() + 2)
                .endsWith(usual.getLast());
    }

    @Test
    void settingsOutOfRangeAreRefused() {
        refused("Lion's beta2 is 1.0", () -> new Lion(0.9, 1));
        refused("Signum's momentum is -0.1", () -> new Signum(-0.1, false));
        refused("NorMuon's epsilon is 0.0", () -> new NorMuon(Direction.Muon.standard(), 0.95, 0));
        refused("AdaMuon's beta2 is NaN", () -> new AdaMuon(0.9, false, POLAR, Double.NaN, 1e-8));
        refused("Newton-Schulz is asked for 101 steps", () -> Coefficients.JORDAN.steps(101));
    }

    private static void refused(String words, Runnable call) {
        assertThatThrownBy(call::run).isInstanceOf(Refusal.class).hasMessageStartingWith(words);
    }
}
