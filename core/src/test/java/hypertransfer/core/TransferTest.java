package hypertransfer.core;

import static hypertransfer.core.Explicit.close;
import static hypertransfer.core.Refused.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.core.Space.Base;
import hypertransfer.core.Space.Controlled;
import hypertransfer.core.Space.Hyperball;
import java.util.List;
import org.junit.jupiter.api.Test;

/** One step of the algebra against the same step with vectors. */
class TransferTest {
    /** Some fifty roundings; where a step nearly cancels w it is multiplied by the condition number. */
    private static final double TIGHT = 1e-14;

    @Test
    void targetIsCarrierIsThePlainBaseOptimizerToTheBit() {
        Draws.forAll("plain Base", random -> {
            double e = Draws.power(random, -6, 2);
            double l = random.nextBoolean() ? 0 : random.nextDouble() / e * 0.999;
            double[] w = Draws.vector(random, 5, Draws.norm(random));
            double[] u = Draws.vector(random, 5, Draws.norm(random));
            State start = State.start("w", Explicit.norm(w));
            Step step = Transfer.plain(new Base(l)).step(start, Explicit.reading(w, u), e);
            assertThat(step.keep()).isEqualTo(1 - e * l);
            assertThat(step.push()).isEqualTo(e);
            assertThat(step.nominal()).isEqualTo(e);
            assertThat(Explicit.moved(step, w, u)).isEqualTo(Explicit.step(new Base(l), w, u, e));
            assertThat(step.next().targetNorm()).isEqualTo(step.next().norm());
            close(step.effective(), Rates.effective(e, l, Explicit.norm(u), Explicit.norm(w)), TIGHT);
            Transfer none = Transfer.plain(new Controlled(l, 0, 1, false));
            assertThat(none.step(start, Explicit.reading(w, u), e)).isEqualTo(step);
        });
    }

    @Test
    void targetIsCarrierIsThePlainHyperballOptimizer() {
        Draws.forAll("plain Hyperball", random -> {
            double e = Draws.power(random, -6, -0.1);
            double[] w = Draws.vector(random, 5, Draws.norm(random));
            double[] u = Draws.vector(random, 5, Draws.norm(random));
            State start = State.start("w", Explicit.norm(w));
            Step step = Transfer.plain(new Hyperball()).step(start, Explicit.reading(w, u), e);
            double[] moved = Explicit.moved(step, w, u);
            double[] expected = Explicit.step(new Hyperball(), w, u, e);
            double error = Explicit.norm(Explicit.sum(1, moved, -1, expected)) / start.R();
            assertThat(error).isLessThan(TIGHT * Math.pow((1 + e) / (1 - e), 2));
            assertThat(step.next().norm()).isEqualTo(start.R());
            close(step.effective(), e, TIGHT);
        });
    }

    /** Rate and decay of each step make a plain Base optimizer of any step of a Hyperball, or under a norm policy. */
    @Test
    void aPlainOptimizerTakesAnyOthersStep() {
        Case.forAll("replay", c -> {
            if (c.transfer().carrier() instanceof Base) {
                return;
            }
            Step step = c.step();
            double decay = step.push() == 0 ? 0 : (1 - step.keep()) / step.push();
            if (step.push() * decay >= 1) {
                return;
            }
            Reading reading = new Reading(Explicit.norm(c.w()), Explicit.norm(c.u()), Explicit.dot(c.u(), c.w()));
            Step plain = Transfer.plain(new Base(0.1)).step(c.state(), reading, step.push(), decay);
            // 1 - rate decay has the roundings of 1, and a policy can leave little of the matrix.
            boolean controlled = c.transfer().carrier() instanceof Controlled;
            close(plain.keep(), step.keep(), controlled ? TIGHT / Math.min(1, step.keep()) : TIGHT);
            close(plain.push(), step.push(), TIGHT);
        });
    }

    @Test
    void onlyThePlainOptimizerTakesAnotherDecay() {
        State s = State.start("w", 2);
        Reading reading = new Reading(2, 1, 0.1);
        assertThat(Transfer.plain(new Base(0.1)).step(s, reading, 0.1, -0.5).keep())
                .isEqualTo(1.05);
        for (Transfer t : List.of(Transfer.plain(new Hyperball()), Mode.HYPERTRANSFER.transfer(0.1))) {
            refused(() -> t.step(s, reading, 0.1, 0.2), "only the plain Base optimizer takes another decay");
        }
        refused(() -> Transfer.plain(new Base(0.1)).step(s, reading, 0.1, Double.NaN), "NaN");
        refused(() -> Transfer.plain(new Base(0.1)).step(s, reading, 0.5, 2), "times weight decay 2.0 is 1 or more");
    }

    /** Proposition 1. */
    @Test
    void carrierLandsOnTheTargetsRay() {
        Case.forAll("same ray", c -> {
            Step step = c.step();
            double[] moved = Explicit.moved(step, c.w(), c.u());
            assertThat(Explicit.apart(moved, c.targetMoved())).isLessThan(TIGHT * c.condition(step.effective()));
        });
    }

    /** Theorem 1's recursion: s is the norm that the target's own iterate has. */
    @Test
    void targetNormIsTheNormOfTheTargetsIterate() {
        Case.forAll("proxy norm", c -> {
            Step step = c.step();
            // The norm comes only from |w|, |u| and <u,w>, so a cancellation counts squared.
            double tolerance = TIGHT * Math.pow(c.condition(step.effective()), 2);
            close(step.next().targetNorm(), Explicit.norm(c.targetMoved()), tolerance);
        });
    }

    @Test
    void predictedNormIsTheNormOfTheMovedMatrix() {
        Case.forAll("predicted norm", c -> {
            Step step = c.step();
            double tolerance = TIGHT * Math.pow(c.condition(step.effective()), 2);
            close(step.next().norm(), Explicit.norm(Explicit.moved(step, c.w(), c.u())), tolerance);
            if (c.transfer().carrier() instanceof Hyperball) {
                assertThat(step.next().norm()).isEqualTo(c.state().R());
            }
            assertThat(step.next().R()).isEqualTo(c.state().R());
            assertThat(step.next().step()).isEqualTo(c.state().step() + 1);
            assertThat(step.next().matrix()).isEqualTo("w");
        });
    }

    @Test
    void effectiveRateIsTheTargetsAndTheCarriers() {
        Case.forAll("effective rate", c -> {
            Step step = c.step();
            double u = Explicit.norm(c.u());
            double rT = c.state().targetNorm(), cos = cos(c);
            double wanted = switch (c.transfer().target()) {
                case Base(double l) -> Rates.effective(c.e(), l, u, rT);
                case Controlled t -> Rates.effective(c.e(), t.pull(rT, u, cos), t.lift(rT, u, cos) * u, rT);
                default -> c.e();
            };
            boolean controlled = c.transfer().target() instanceof Controlled;
            double tight = controlled ? TIGHT * c.condition(step.effective()) : TIGHT;
            close(step.effective(), wanted, tight);
            close(step.push() * u / (step.keep() * Explicit.norm(c.w())), wanted, tight);
            if (c.transfer().carrier() instanceof Base(double lc)) {
                assertThat(step.nominal()).isEqualTo(step.push());
                // keep = 1 - eta lambda, as an absolute error: it may take nearly all
                assertThat(step.keep()).isCloseTo(1 - step.nominal() * lc, within(1e-15));
            }
            close(step.impliedDecay(), (1 - step.keep()) / wanted, tight);
        });
    }

    /** Whatever is followed: at its nominal rate the carrier's own optimizer takes the step, vector by vector. */
    @Test
    void nominalRateIsTheOneOfTheCarriersOwnOptimizer() {
        Case.forAll("nominal rate", c -> {
            Space carrier = c.transfer().carrier();
            if (!(carrier instanceof Controlled own)) { // a Base carrier: keep and push above, to the bit
                return;
            }
            Step step = c.step();
            double[] moved = Explicit.moved(step, c.w(), c.u());
            double[] expected = Explicit.step(carrier, c.w(), c.u(), step.nominal());
            double kept = 1 - step.nominal() * own.pull(Explicit.norm(c.w()), Explicit.norm(c.u()), cos(c));
            double tolerance = TIGHT * Math.pow(c.condition(step.effective()), 2) / kept;
            assertThat(Explicit.apart(moved, expected)).isLessThan(tolerance);
            close(Explicit.norm(moved), Explicit.norm(expected), tolerance);
        });
    }

    private static double cos(Case c) {
        return Explicit.dot(c.u(), c.w()) / Explicit.norm(c.u()) / Explicit.norm(c.w());
    }

    @Test
    void angleIsTheOneTheMatrixTurnsBy() {
        Case.forAll("angle", c -> {
            if (Math.abs(cos(c))
                    < 0.9) { // nearer, the sine comes from 1 - cos^2 and keeps half the digits: a log's need
                Step step = c.step();
                double turned = Explicit.angle(c.w(), Explicit.moved(step, c.w(), c.u()));
                assertThat(step.angle()).isCloseTo(turned, within(TIGHT * c.condition(step.effective())));
            }
        });
    }

    @Test
    void gradientScalesFollowTheRule() {
        Case.forAll("gradient rule", c -> {
            double rC = c.state().norm();
            double rT = c.state().targetNorm();
            double R = c.state().R();
            double[] scales = switch (c.transfer().gradient()) { // of the evaluation, of the gradient
                case AS_IS -> new double[] {1, 1};
                case RESCALED -> new double[] {1, rC / rT};
                case REPRESENTATIVE -> new double[] {rT / rC, 1};
                case AT_RADIUS -> new double[] {R / rC, R / rT};
            };
            assertThat(c.transfer().evaluationScale(c.state())).isEqualTo(scales[0]);
            assertThat(c.transfer().gradientScale(c.state())).isEqualTo(scales[1]);
            assertThat(c.transfer().gradient().evaluatesElsewhere())
                    .isEqualTo(
                            switch (c.transfer().gradient()) {
                                case AS_IS, RESCALED -> false;
                                case REPRESENTATIVE, AT_RADIUS -> true;
                            });
        });
    }

    @Test
    void zeroDirectionMovesNothingButTheDecay() {
        Case.forAll("|u| = 0", c -> {
            double rC = c.state().norm();
            double rT = c.state().targetNorm();
            Reading still = new Reading(rC, 0, 0);
            Step step = c.transfer().step(c.state(), still, c.e());
            double shrunk = 1 - c.e() * c.transfer().target().decay();
            assertThat(step.effective()).isZero();
            assertThat(step.angle()).isZero();
            assertThat(step.impliedDecay()).isZero();
            close(step.next().targetNorm(), shrunk * rT, TIGHT);
            double keep = c.state().R() / rC;
            Space target = c.transfer().target(), carrier = c.transfer().carrier();
            if (!(carrier
                    instanceof
                    Hyperball)) { // which stands still, and whoever follows it does too; a policy adds nothing
                double lc = carrier.decay();
                keep = target instanceof Hyperball ? 1 : 1 - Rates.transferred(c.e(), target.decay(), rT, lc, rC) * lc;
            }
            assertThat(step.keep()).isCloseTo(keep, within(1e-15 * Math.max(1, keep)));
            close(step.next().norm(), step.keep() * rC, TIGHT);
        });
    }

    @Test
    void zeroRateMovesNothing() {
        Case.forAll("e = 0", c -> {
            Step step = c.transfer().step(c.state(), Explicit.reading(c.w(), c.u()), 0);
            assertThat(step.push()).isZero();
            assertThat(step.effective()).isZero();
            boolean base = !(c.transfer().carrier() instanceof Hyperball);
            assertThat(step.keep()).isEqualTo(base ? 1 : c.state().R() / Explicit.norm(c.w()));
            assertThat(step.next().targetNorm())
                    .isEqualTo(
                            c.transfer().isPlain() && base && c.transfer().gradient() == GradientRule.AS_IS
                                    ? Explicit.norm(c.w())
                                    : c.state().targetNorm());
        });
    }
}
