package hypertransfer.train.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.core.Coefficients;
import hypertransfer.core.Mode;
import hypertransfer.core.ShapeFactor;
import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.EngineException;
import hypertransfer.engine.Motion.Iteration;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.provider.Engines;
import hypertransfer.train.Rig;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Variant;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
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
                new AdaMuon(0.95, true, POLAR, 0.9, 1e-8),
                // these matrices have gradients of low rank: epsilon is well above the roundings in the rest
                new Soap(0.9, 0.95, 1e-6, 0.9, 3, 100),
                new Soap(0.95, 0.95, 1e-8, 0.95, 1, 8),
                new Sign(0.9));
    }

    /** One that is not ours: the sign of a mean of gradients, with the largest entry ever seen beside it: two tensors, no operation of the engine. */
    private record Sign(double beta) implements Direction {
        @Override
        public String label() {
            return "Sign " + beta;
        }

        @Override
        public List<String> memory() {
            return List.of("sign.mean", "sign.largest");
        }

        @Override
        public void apply(Engine engine, List<Tensor> gradients, double[] scale, long t, List<List<Tensor>> state) {
            for (int k = 0; k < gradients.size(); k++) {
                double[] g = engine.read(gradients.get(k));
                double[] mean = engine.read(state.get(0).get(k)),
                        largest = engine.read(state.get(1).get(k));
                for (int i = 0; i < g.length; i++) {
                    mean[i] = beta * mean[i] + (1 - beta) * scale[k] * g[i];
                    largest[i] = Math.max(largest[i], Math.abs(mean[i]));
                    g[i] = Math.abs(mean[i]) > 0.01 * largest[i] ? Math.signum(mean[i]) : 0;
                }
                engine.write(gradients.get(k), g);
                engine.write(state.get(0).get(k), mean);
                engine.write(state.get(1).get(k), largest);
            }
        }
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

    /** Continued from what another one has, as from a checkpoint, it takes the same steps. */
    @ParameterizedTest
    @MethodSource("all")
    void allThatIsRememberedIsSaved(Direction direction) {
        Routing routing = Routing.standard(direction, Mode.HYPERTRANSFER.transfer(0.1));
        try (Rig whole = new Rig(Variant.M1, routing);
                Rig rest = new Rig(Variant.M1, routing)) {
            whole.losses(4, 0.005);
            assertThat(whole.optimizer.tensors().keySet())
                    .containsAll(direction.memory().stream()
                            .map(memory -> memory + ":blocks.1.mlp.fc.weight")
                            .toList());
            rest.continueFrom(whole);
            assertThat(rest.losses(4, 0.005)).isEqualTo(whole.losses(4, 0.005));
        }
    }

    private static double[] losses(Direction direction, Mode mode) {
        try (Rig rig = new Rig(Variant.M1, Routing.standard(direction, mode.transfer(0.1)))) {
            return rig.losses(12, 0.01);
        }
    }

    /** A direction's steps over random gradients, beside what is written out. */
    private interface Written {
        double[] step(double[] g, int t, Engine engine);
    }

    private static void same(Direction direction, Written written) {
        same(4, direction, written);
    }

    private static void same(int steps, Direction direction, Written written) {
        try (Engine engine = Engines.open("reference", new Dims(1, 1, 8, 2, 1))) {
            Tensor g = engine.tensor(Role.GRADIENT, "g", ROWS, COLS);
            List<List<Tensor>> state = state(engine, direction, ROWS, COLS);
            engine.commit();
            Random random = new Random(3);
            for (int t = 0; t < steps; t++) {
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
            double[] u = Rig.orthogonalized(Arrays.stream(m).map(Math::signum).toArray(), ROWS, COLS, POLAR);
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

    /** The formulas, with bases by Gram-Schmidt, whose signs and the engine's need not be the same. */
    @Test
    void soap() {
        for (int largest : new int[] {100, 5, 1}) { // both sides, the rows only, none
            double[][] left = new double[ROWS][ROWS], right = new double[COLS][COLS];
            double[][] q = unit(ROWS), p = unit(COLS), m = new double[ROWS][COLS], v = new double[ROWS][COLS];
            int steps = 7, every = 2;
            same(steps, new Soap(0.8, 0.9, 1e-8, 0.7, every, largest), (g, t, engine) -> {
                double[][] G = new double[ROWS][], quotient = new double[ROWS][COLS];
                Arrays.setAll(G, i -> Arrays.copyOfRange(g, i * COLS, (i + 1) * COLS));
                double[][] seen = times(times(q, G), transposed(p));
                for (int k = 0; k < N && t > 0; k++) {
                    int i = k / COLS, j = k % COLS;
                    m[i][j] = 0.8 * m[i][j] + 0.2 * seen[i][j];
                    v[i][j] = 0.9 * v[i][j] + 0.1 * seen[i][j] * seen[i][j];
                    quotient[i][j] = m[i][j] / (1 - Math.pow(0.8, t));
                    quotient[i][j] /= Math.sqrt(v[i][j] / (1 - Math.pow(0.9, t))) + 1e-8;
                }
                double[][] u = times(times(transposed(q), quotient), p);
                double[][] mean = times(times(transposed(q), m), p);
                mix(left, times(G, transposed(G)));
                mix(right, times(transposed(G), G));
                for (int turn = 0; turn < (t == 0 ? 10 : t % every == 0 ? 1 : 0); turn++) {
                    turn(left, q, largest);
                    turn(right, p, largest);
                }
                if (t > 0 && t % every == 0) {
                    System.arraycopy(times(times(q, mean), transposed(p)), 0, m, 0, ROWS);
                }
                return Arrays.stream(u).flatMapToDouble(Arrays::stream).toArray();
            });
        }
    }

    private static double[][] times(double[][] a, double[][] b) {
        double[][] product = new double[a.length][b[0].length];
        for (int i = 0; i < a.length; i++) {
            for (int k = 0; k < b.length; k++) {
                for (int j = 0; j < b[0].length; j++) {
                    product[i][j] += a[i][k] * b[k][j];
                }
            }
        }
        return product;
    }

    private static double[][] transposed(double[][] a) {
        double[][] transposed = new double[a[0].length][a.length];
        for (int i = 0; i < a.length * a[0].length; i++) {
            transposed[i % a[0].length][i / a[0].length] = a[i / a[0].length][i % a[0].length];
        }
        return transposed;
    }

    private static void mix(double[][] mean, double[][] now) {
        for (int i = 0; i < mean.length; i++) {
            double[] row = mean[i], other = now[i];
            Arrays.setAll(row, j -> 0.7 * row[j] + 0.3 * other[j]);
        }
    }

    /**
     * In float32, through 21 turns of the bases. The rows' Gram matrix is of full rank from the start; the columns' first one
     * is not, and there a rounding of 6e-8 stands against a shift of 1e-3 / sqrt(70) in every turn.
     */
    @ParameterizedTest
    @CsvSource({"20, 1e-4", "100, 1e-2"})
    void soapOnTheCpuIsTheReferences(int largest, double tolerance) {
        int rows = 20, cols = 70, steps = 12;
        Direction soap =
                new Soap(0.9, 0.95, 0.01, 0.9, 1, largest); // Adam's first quotient is a sign unless epsilon tells
        Random random = new Random(5);
        double[][] gradients = new double[steps][];
        Arrays.setAll(gradients, t -> random.doubles(rows * cols, -1, 1).toArray());
        double[][] expected = directions("reference", soap, rows, cols, gradients);
        double[][] met = directions("cpu", soap, rows, cols, gradients);
        assertThat(expected[0]).containsOnly(0);
        for (int t = 1; t < steps; t++) {
            double distance = 0, length = 0;
            for (int i = 0; i < rows * cols; i++) {
                distance += Math.pow(met[t][i] - expected[t][i], 2);
                length += Math.pow(expected[t][i], 2);
            }
            assertThat(Math.sqrt(distance / length)).as("step %d", t).isLessThan(tolerance);
        }
    }

    private static double[][] directions(String name, Direction direction, int rows, int cols, double[][] gradients) {
        double[][] directions = new double[gradients.length][];
        try (Engine engine = Engines.open(name, new Dims(1, 1, cols, 2, 1))) {
            Tensor g = engine.tensor(Role.HIDDEN_GRADIENT, "g", rows, cols);
            List<List<Tensor>> state = state(engine, direction, rows, cols);
            engine.commit();
            for (int t = 0; t < gradients.length; t++) {
                engine.write(g, gradients[t]);
                direction.apply(engine, List.of(g), new double[] {1}, t, state);
                directions[t] = engine.read(g);
            }
        }
        return directions;
    }

    private static List<List<Tensor>> state(Engine engine, Direction direction, int rows, int cols) {
        return direction.memory().stream()
                .map(name -> direction.extent(name, rows, cols))
                .map(extent -> List.of(engine.tensor(Role.STATE, "state", extent.rows(), extent.cols())))
                .toList();
    }

    private static double[][] unit(int n) {
        double[][] unit = new double[n][n];
        for (int i = 0; i < n; i++) {
            unit[i][i] = 1;
        }
        return unit;
    }

    /** A step of orthogonal iteration. */
    private static void turn(double[][] gram, double[][] basis, int largest) {
        int n = gram.length;
        double squares = Arrays.stream(gram).mapToDouble(row -> dot(row, row)).sum();
        double shift = 1e-3 * Math.sqrt(squares / n);
        for (int i = 0; i < n && n <= largest; i++) {
            double[] old = basis[i], row = new double[n];
            Arrays.setAll(row, j -> shift * old[j] + dot(gram[j], old));
            for (int above = 0; above < i; above++) {
                double[] other = basis[above];
                double along = dot(row, other);
                Arrays.setAll(row, j -> row[j] - along * other[j]);
            }
            double norm = Math.sqrt(dot(row, row));
            basis[i] = Arrays.stream(row).map(x -> x / norm).toArray();
        }
    }

    private static double dot(double[] a, double[] b) {
        return IntStream.range(0, a.length).mapToDouble(i -> a[i] * b[i]).sum();
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

    /** More layers than the heap has room for; nothing is allocated before that is known. */
    @Test
    void aStateThatDoesNotFitIsNamedWithItsSize() {
        int layers = (int) (Runtime.getRuntime().maxMemory() >> 31) + 1;
        Architecture wide = new Architecture(Variant.M1, 11, layers, 2048, 64, 1);
        Routing soap = Routing.standard(Soap.standard(), Mode.BASE.transfer(0.1));
        assertThatThrownBy(() -> new Rig(wide, soap, 1, false).close())
                .isInstanceOf(EngineException.class)
                .hasMessageContainingAll("  state ", "  total ", "does not fit into the heap of ")
                .hasMessageMatching(
                        "(?s).*MiB; the directions remember \\d+ MiB of it: choose one that remembers" + " less");
    }
}
