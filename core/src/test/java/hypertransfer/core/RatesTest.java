package hypertransfer.core;

import static hypertransfer.core.Explicit.close;
import static hypertransfer.core.Refused.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.core.Space.Base;
import hypertransfer.core.Space.Hyperball;
import java.util.ArrayList;
import java.util.List;
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

    /** A Base run followed on a Hyperball; the angles it took there, followed by a Base carrier, are the first run. */
    @Test
    void aRoundTripIsTheIdentity() {
        Draws.forAll("Base -> Hyperball -> Base", random -> roundTrip(random, true));
        Draws.forAll("Hyperball -> Base -> Hyperball", random -> roundTrip(random, false));
    }

    private static void roundTrip(RandomGenerator random, boolean fromBase) {
        int steps = 6;
        double norm = Draws.norm(random);
        double[] start = Draws.vector(random, 6, norm);
        List<double[]> directions = new ArrayList<>();
        List<Double> rates = new ArrayList<>();
        double size = Draws.norm(random);
        double baseRate = norm / size; // turns by about a radian
        double scale = fromBase ? baseRate : 1;
        for (int t = 0; t < steps; t++) {
            directions.add(Draws.vector(random, 6, size));
            rates.add(scale * Draws.power(random, -4, -0.5));
        }
        double lambda = random.nextBoolean() ? 0 : random.nextDouble() / baseRate;
        Space first = fromBase ? new Base(lambda) : new Hyperball();
        Space second = fromBase ? new Hyperball() : new Base(lambda);
        Trip there = trip(new Transfer(first, second, GradientRule.RESCALED), start, directions, rates);
        Trip back = trip(new Transfer(second, first, GradientRule.RESCALED), start, directions, there.rates);
        double[] w = start;
        for (int t = 0; t < steps; t++) {
            close(back.rates.get(t), rates.get(t), 1e-13); // six steps' roundings, each a little turned by the next
            w = Explicit.step(first, w, directions.get(t), rates.get(t));
        }
        assertThat(Explicit.norm(Explicit.sum(1, back.end, -1, w))).isLessThan(1e-13 * Explicit.norm(w));
    }

    private record Trip(List<Double> rates, double[] end) {}

    /** Follows a schedule with these directions, and records the rates the carrier took. */
    private static Trip trip(Transfer transfer, double[] start, List<double[]> directions, List<Double> schedule) {
        State state = State.start("w", Explicit.norm(start));
        double[] w = start;
        List<Double> rates = new ArrayList<>();
        for (int t = 0; t < directions.size(); t++) {
            Step step = transfer.step(state, Explicit.reading(w, directions.get(t)), schedule.get(t));
            w = Explicit.moved(step, w, directions.get(t));
            state = step.next();
            rates.add(step.nominal());
        }
        return new Trip(rates, w);
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
