package hypertransfer.core;

import static hypertransfer.core.Explicit.close;
import static hypertransfer.core.Refused.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.core.Space.Base;
import hypertransfer.core.Space.Hyperball;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;

/** The closed forms, and that the algebra takes the rates they give. */
class RatesTest {
    private static final double TIGHT = 1e-14;

    @Test
    void fairRateRealisesThePrescribedEffectiveRate() {
        Draws.forAll("fair rate", random -> {
            double wanted = Draws.power(random, -6, 1);
            double w = Draws.norm(random);
            double u = Draws.norm(random);
            double taken = Draws.power(random, -9, 1); // what decay adds to the formula's denominator, in parts of |u|
            double lambda = taken * u / (wanted * w);
            double fair = Rates.fair(wanted, lambda, u, w);
            // 1 - eta lambda is 1 / (1 + taken): its rounding shows (1 + taken) times larger
            close(Rates.effective(fair, lambda, u, w), wanted, TIGHT * (1 + taken));

            Transfer mode = Mode.FAIR.transfer(lambda);
            Step step = mode.step(State.start("w", w), new Reading(w, u, 0.3 * u * w), wanted);
            close(step.nominal(), fair, TIGHT);
            close(step.effective(), wanted, TIGHT);

            assertThat(Rates.fair(wanted, 0, u, w)).as("the ratio of LARS").isEqualTo(wanted * w / u);
            Step undecayed = Mode.FAIR.transfer(0).step(State.start("w", w), new Reading(w, u, 0), wanted);
            assertThat(undecayed.keep()).isEqualTo(1);
            close(undecayed.push(), wanted * w / u, TIGHT);
        });
    }

    @Test
    void weightDecayTransferIsItsClosedForm() {
        Draws.forAll("weight-decay transfer", random -> {
            double e = Draws.power(random, -6, 2);
            double l1 = decay(random, e);
            double l2 = decay(random, e);
            double s1 = Draws.norm(random);
            double s2 = Draws.norm(random);
            double u = Draws.norm(random);
            State state = State.start("w", s2).withTargetNorm(s1);
            Transfer transfer = new Transfer(new Base(l1), new Base(l2), GradientRule.RESCALED);
            Step step = transfer.step(state, new Reading(s2, u, u * s2 * random.nextDouble(-0.9, 0.9)), e);
            double rate = Rates.transferred(e, l1, s1, l2, s2);
            close(step.nominal(), rate, TIGHT);
            close(step.push(), rate, TIGHT);
            assertThat(step.keep()).isCloseTo(1 - rate * l2, within(1e-15));
            close(Rates.transferred(e, l1, s1, l1, s1), e, TIGHT); // to itself
        });
    }

    @Test
    void effectiveRateByHand() {
        assertThat(Rates.effective(0.5, 0.4, 3, 2)).isCloseTo(0.9375, within(1e-15)); // 1.5 / (0.8 * 2)
        assertThat(Rates.fair(0.9375, 0.4, 3, 2)).isCloseTo(0.5, within(1e-15));
        assertThat(Rates.transferred(0.5, 0.4, 2, 1, 4)).isCloseTo(2 / 3.6, within(1e-15)); // 2 / (1.6 + 2)
    }

    @Test
    void finalToPeakIsTheLastOverTheLargest() {
        assertThat(Rates.finalToPeak(new double[] {1, 4, 3, 1})).isEqualTo(0.25);
        assertThat(Rates.finalToPeak(new double[] {0, 0})).isZero();
        refused(() -> Rates.finalToPeak(new double[0]), "at least one rate");
        refused(() -> Rates.finalToPeak(new double[] {1, Double.NaN}), "an effective rate is NaN");
    }

    /** They answered with rates below zero, infinities and NaN. */
    @Test
    void whatHasNoRateIsRefused() {
        refused(() -> Rates.effective(20, 0.1, 8, 10), "eta 20.0, lambda 0.1,", "eta lambda below 1");
        refused(() -> Rates.effective(-0.02, 0.1, 8, 10), "eta -0.02");
        refused(() -> Rates.effective(0.02, 0.1, 8, 0), "|w| 0.0");
        refused(() -> Rates.effective(0.02, Double.NaN, 8, 1), "lambda NaN");
        refused(() -> Rates.fair(0.02, 0, 0, 10), "no rate gives the effective rate 0.02 with lambda 0.0, |u| 0.0");
        refused(() -> Rates.fair(-0.02, 0.1, 8, 10), "no rate gives the effective rate -0.02");
        refused(() -> Rates.transferred(20, 0.1, 1, 0.3, 5), "eta1 20.0, lambda1 0.1", "eta1 lambda1 below 1");
        refused(() -> Rates.transferred(0.02, 0.1, 0, 0.3, 0), "s1 0.0");
        assertThat(Rates.effective(0.02, -0.1, 8, 10)).as("a replay's decay").isCloseTo(0.016 / 1.002, within(1e-15));
    }

    /** What the paper's Hyperball implies: (1 - R / |w before projection|) / a. */
    @Test
    void impliedDecayOfAHyperballByHand() {
        Step step = Transfer.plain(new Hyperball()).step(State.start("w", 2), new Reading(2, 5, 0), 0.75);
        assertThat(step.keep()).isCloseTo(0.8, within(1e-15)); // 1 / sqrt(1 + 0.75^2)
        assertThat(step.impliedDecay()).isCloseTo(0.2 / 0.75, within(1e-15));
        assertThat(step.angle()).isCloseTo(Math.atan(0.75), within(1e-15));
    }

    /** Nothing, some, or nearly all of the matrix at rate e. */
    private static double decay(RandomGenerator random, double e) {
        return switch (random.nextInt(3)) {
            case 0 -> 0;
            case 1 -> (1 - Draws.power(random, -12, -1)) / e;
            default -> random.nextDouble(0.999) / e;
        };
    }
}
