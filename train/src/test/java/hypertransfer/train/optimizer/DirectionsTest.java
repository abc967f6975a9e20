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
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** The transfers of all directions follow their targets. TrajectoryTest has the steps of each, from another implementation. */
class DirectionsTest {
    private static final Iteration POLAR = Direction.Muon.iteration(Coefficients.POLAR_EXPRESS, 7);

    static Stream<Direction> all() {
        return Stream.of(
                new Lion(0.9, 0.99),
                new Signum(0.9, false),
                new Signum(0.8, true),
                new Direction.Sgd(0.9, true),
                new Direction.Muon(0.9, true, POLAR, ShapeFactor.TALL),
                new NorMuon(Direction.Muon.standard(), 0.95, 1e-10),
                new NorMuon(new Direction.Muon(0.9, true, POLAR, ShapeFactor.RMS), 0.9, 1e-8),
                new AdaMuon(0.95, true, POLAR, 0.9, 1e-8),
                // these matrices have gradients of low rank: epsilon is well above the roundings in the rest
                new Soap(0.9, 0.95, 1e-6, 0.9, 3, 100),
                new Soap(0.95, 0.95, 1e-8, 0.95, 1, 8),
                new SoapMuon(new Soap(0.9, 0.95, 1e-6, 0.9, 3, 100), POLAR, ShapeFactor.RMS));
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
        try (Rig rig = new Rig(Variant.M1, Routing.standard(direction, mode.transfer(0.1)))) {
            return rig.losses(12, 0.01);
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

    /** All singular values are near one, and the first direction is zero as SOAP's is. */
    @Test
    void soapMuonIsSoapOrthogonalised() {
        int n = 12;
        Soap soap = new Soap(0.9, 0.95, 0.01, 0.9, 2, 100);
        Random random = new Random(7);
        double[][] gradients = new double[5][];
        Arrays.setAll(gradients, t -> random.doubles(n * n, -1, 1).toArray());
        double[][] plain = directions("reference", soap, n, n, gradients);
        double[][] met = directions("reference", new SoapMuon(soap, POLAR, ShapeFactor.NONE), n, n, gradients);
        assertThat(met[0]).containsOnly(0);
        for (int t = 1; t < gradients.length; t++) {
            double[] u = met[t], s = plain[t];
            double trace = 0, along = 0;
            for (int i = 0; i < n * n; i++) {
                trace += u[i] * u[i];
                along += u[i] * s[i];
            }
            assertThat(trace).as("squares of %d singular values", n).isCloseTo(n, within(0.05));
            assertThat(along).as("the sum of SOAP's singular values").isPositive();
            for (int i = 0; i < n; i++) { // u s^T is symmetric only if u is the polar factor of s
                for (int j = 0; j < i; j++) {
                    double upper = 0, lower = 0;
                    for (int k = 0; k < n; k++) {
                        upper += u[i * n + k] * s[j * n + k];
                        lower += u[j * n + k] * s[i * n + k];
                    }
                    assertThat(upper).isCloseTo(lower, within(1e-6 * along));
                }
            }
        }
    }

    private static double[][] directions(String name, Direction direction, int rows, int cols, double[][] gradients) {
        double[][] directions = new double[gradients.length][];
        try (Engine engine = Engines.open(name, new Dims(1, 1, cols, 2, 1))) {
            Tensor g = engine.tensor(Role.HIDDEN_GRADIENT, "g", rows, cols);
            List<List<Tensor>> state = direction.memory(rows, cols).stream()
                    .map(memory -> List.of(engine.tensor(Role.STATE, "state", memory.rows(), memory.cols())))
                    .toList();
            engine.commit();
            for (int t = 0; t < gradients.length; t++) {
                engine.write(g, gradients[t]);
                direction.apply(engine, List.of(g), new double[] {1}, t, state);
                directions[t] = engine.read(g);
            }
        }
        return directions;
    }

    @ParameterizedTest
    @EnumSource
    void stepsAreTheFirstOfTheSequenceAndThenTheLast(Coefficients coefficients) {
        List<Coefficients.Step> usual = coefficients.steps(0);
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
        Routing soap = Routing.standard(new Soap(0.95, 0.95, 1e-10, 0.95, 10, 10_000), Mode.BASE.transfer(0.1));
        assertThatThrownBy(() -> new Rig(wide, soap, 1, false).close())
                .isInstanceOf(EngineException.class)
                .hasMessageContainingAll("  state ", "  total ", "does not fit into the heap of ")
                .hasMessageMatching(
                        "(?s).*MiB; the directions remember \\d+ MiB of it: choose one that remembers" + " less");
    }
}
