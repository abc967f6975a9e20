package hypertransfer.core;

import static hypertransfer.core.Refused.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.core.Space.Hyperball;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A matrix of zeros with a given radius: where it goes, and that a transfer is exact from there. */
class ZeroTest {
    private static final double R = 2, E = 0.05, DECAY = 0.4;

    /** Pulls towards a point: a gradient that depends on where the matrix is, scale included. */
    private static double[] gradient(double[] w) {
        double[] g = new double[w.length];
        Arrays.setAll(g, i -> w[i] - (i - 1.5) + 0.3 * w[i] * w[(i + 1) % w.length]);
        return g;
    }

    /** The plain optimizer of a space with the vectors in hand, from zero. */
    private static double[][] plain(Space space, int steps) {
        double[][] path = new double[steps][];
        double[] w = new double[4];
        for (int t = 0; t < steps; t++) {
            double[] u = gradient(w);
            w = t == 0 && space instanceof Hyperball
                    ? Explicit.scaled(-R / Explicit.norm(u), u)
                    : Explicit.step(space, w, u, E);
            path[t] = w;
        }
        return path;
    }

    /** With the gradient taken at the representative every transfer is exact, on any loss. */
    @ParameterizedTest
    @EnumSource(
            value = Mode.class,
            names = {"BASE", "HYPERBALL", "HYPERTRANSFER_PLUS", "INVERSE_HYPERTRANSFER_PLUS", "DECAY_TRANSFER"})
    void aTransferFollowsItsTargetFromZero(Mode mode) {
        Transfer named = mode.transfer(DECAY);
        Transfer transfer =
                named.isPlain() ? named : new Transfer(named.target(), named.carrier(), GradientRule.REPRESENTATIVE);
        double[][] expected = plain(transfer.target(), 20);
        double[] w = new double[4];
        State s = State.zero("proj", R);
        for (int t = 0; t < 20; t++) {
            double[] at = Explicit.scaled(transfer.evaluationScale(s), w);
            double[] u = Explicit.scaled(transfer.gradientScale(s), gradient(at));
            Step step = transfer.step(s, Explicit.reading(w, u), E);
            w = Explicit.moved(step, w, u);
            s = step.next();
            assertThat(s.norm()).isCloseTo(Explicit.norm(w), within(1e-13));
            double toTarget = transfer.isPlain() ? 1 : s.targetNorm() / s.norm();
            assertThat(Explicit.scaled(toTarget, w)).as("step %d", t).containsExactly(expected[t], within(1e-12));
            if (transfer.carrier() instanceof Hyperball) {
                assertThat(Explicit.norm(w)).isCloseTo(R, within(1e-13));
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void nothingMovesWithoutADirectionOrARate(Mode mode) {
        Transfer transfer = mode.transfer(DECAY);
        State zero = State.zero("proj", R);
        for (Step still :
                new Step[] {transfer.step(zero, new Reading(0, 0, 0), E), transfer.step(zero, new Reading(0, 3, 0), 0)
                }) {
            assertThat(still.next().norm()).isZero();
            assertThat(still.effective()).isZero();
            assertThat(still.next().step()).isEqualTo(1);
        }
    }

    @ParameterizedTest
    @EnumSource
    void theGradientIsTakenAsItIsAtZero(Mode mode) {
        for (GradientRule rule : GradientRule.values()) {
            Transfer transfer = new Transfer(
                    mode.transfer(DECAY).target(), mode.transfer(DECAY).carrier(), rule);
            assertThat(transfer.evaluationScale(State.zero("proj", R))).isEqualTo(1);
            assertThat(transfer.gradientScale(State.zero("proj", R))).isEqualTo(1);
        }
    }

    /** A matrix that had a norm and lost it did not start at zero. */
    @Test
    void aMatrixThatVanishesIsStillRefused() {
        Transfer ball = Transfer.plain(new Hyperball());
        State moved = ball.step(State.zero("proj", R), new Reading(0, 3, 0), E).next();
        refused(
                () -> ball.step(moved, new Reading(0, 3, 0), E),
                "initialise the matrix",
                "start it from zero with a given radius",
                "plain Base optimizer");
    }

    @ParameterizedTest
    @ValueSource(doubles = {0, -1, Double.NaN, Double.POSITIVE_INFINITY})
    void aRadiusThatIsNoneIsRefused(double radius) {
        refused(
                () -> State.zero("proj", radius),
                "the radius of proj, which starts at zero, is " + radius + "; it must be a finite number above zero");
    }
}
