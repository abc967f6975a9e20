package hypertransfer.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.core.Space.Base;
import hypertransfer.core.Space.Hyperball;
import org.assertj.core.api.AbstractThrowableAssert;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the algebra will not do, and what it tells the user instead: which matrix, which step, and what to do. */
class RefusalTest {
    private static final State STATE = new State("blocks.2.mlp.fc.weight", 41, 2, 2, 2);
    private static final Reading READING = new Reading(2, 3, 1);

    @ParameterizedTest
    @ValueSource(doubles = {10, 11, 1e300, Double.MAX_VALUE})
    void rateTimesDecayOfOneOrMore(double e) {
        for (Space carrier : new Space[] {new Base(0.1), new Base(0), new Hyperball()}) {
            refused(
                    new Transfer(new Base(0.1), carrier, GradientRule.RESCALED),
                    READING,
                    e,
                    "learning rate " + e,
                    "weight decay 0.1",
                    "lower either");
        }
    }

    /** Only the target's rate times the target's decay counts: the carrier's rate is found to suit its own. */
    @Test
    void carriersDecayMayBeAnything() {
        Transfer transfer = new Transfer(new Base(0), new Base(1e9), GradientRule.RESCALED);
        Step step = transfer.step(STATE, READING, 10);
        assertThat(step.keep()).isPositive();
        assertThat(step.nominal() * 1e9).isLessThanOrEqualTo(1);
    }

    @Test
    void justBelowOneIsTaken() {
        double e = Math.nextDown(10.0);
        Step step = Transfer.plain(new Base(0.1)).step(STATE, READING, e);
        assertThat(step.keep()).isEqualTo(1 - e * 0.1).isPositive();
    }

    /** A rule of one's own that would train uphill, or nowhere, is not taken for a rate that is too high. */
    @Test
    void spacesThatBreakTheirPromise() {
        record Own(double decay, double pull, double lift) implements Space {
            @Override
            public double pull(double r, double u, double cos) {
                return pull;
            }

            @Override
            public double lift(double r, double u, double cos) {
                return lift;
            }
        }
        for (Space own : new Space[] {new Own(0.1, 0.1, -1), new Own(0.1, Double.NaN, 1), new Own(0.1, 0, 0)}) {
            for (Transfer transfer : new Transfer[] {
                Transfer.plain(own),
                new Transfer(own, new Hyperball(), GradientRule.RESCALED),
                new Transfer(new Base(0.1), own, GradientRule.RESCALED)
            }) {
                refused(transfer, READING, 0.02, own + " answers pull ", "lift finite and above zero");
            }
        }
    }

    /** A norm of zero was told at the next step, or taken for a start from zero; one that is no number for too high a rate. */
    @ParameterizedTest
    @ValueSource(doubles = {0, -1, Double.NaN, Double.POSITIVE_INFINITY})
    void aNormThatASpaceCannotGoOnFrom(double norm) {
        record Own(double decay, double norm) implements Space {
            @Override
            public double after(double free, double along) {
                return norm;
            }
        }
        Space own = new Own(0.1, norm);
        for (Transfer transfer : new Transfer[] {
            Transfer.plain(own),
            new Transfer(own, new Hyperball(), GradientRule.RESCALED),
            new Transfer(new Base(0.1), own, GradientRule.RESCALED)
        }) {
            refused(transfer, READING, 0.02, own + " ends the step with the norm " + norm, "finite and above zero");
        }
        Reading beyondTheOrigin = new Reading(2, 3, 6);
        diverged(Transfer.plain(own), beyondTheOrigin, 1, "with the norm " + norm, "lower the learning rate");
    }

    @ParameterizedTest
    @EnumSource(Mode.class)
    void badRates(Mode mode) {
        for (double e : new double[] {Double.NaN, -1e-3, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY}) {
            refused(mode.transfer(0.1), READING, e, "learning rate is " + e, "finite number, zero or more");
        }
    }

    @ParameterizedTest
    @ValueSource(doubles = {Double.NaN, -0.1, Double.POSITIVE_INFINITY})
    void badDecays(double decay) {
        Refused.refused(() -> new Base(decay), "weight decay is " + decay, "finite number, zero or more");
    }

    @ParameterizedTest
    @EnumSource(Mode.class)
    void readingsOfADivergedRun(Mode mode) {
        for (double bad : new double[] {Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY}) {
            String next = "lower the learning rate";
            diverged(mode.transfer(0.1), new Reading(bad, 3, 1), 0.1, "|w| is " + bad, "diverged", next);
            diverged(mode.transfer(0.1), new Reading(2, bad, 1), 0.1, "|u| is " + bad, "diverged", next);
            diverged(mode.transfer(0.1), new Reading(2, 3, bad), 0.1, "<u,w> is " + bad, "diverged", next);
        }
    }

    /** The measured norm is the one to name: the state may still remember a good one. */
    @ParameterizedTest
    @EnumSource(value = Mode.class, mode = EnumSource.Mode.EXCLUDE, names = "BASE")
    void zeroMatrix(Mode mode) {
        refused(mode.transfer(0.1), new Reading(0, 3, 0), 0.1, "norm is 0.0", "initialise the matrix");
        State zero = State.start("embed", 0);
        Refused.refused(
                () -> mode.transfer(0.1).step(zero, new Reading(0, 3, 0), 0.1),
                "embed",
                "step 0",
                "plain Base optimizer");
    }

    @Test
    void zeroMatrixHasNoScales() {
        State zero = State.start("embed", 0);
        String[] words = {"embed", "step 0", "initialise the matrix"};
        Refused.refused(() -> Mode.HYPERTRANSFER.transfer(0.1).gradientScale(zero), words);
        Refused.refused(() -> Mode.HYPERTRANSFER_PLUS.transfer(0.1).evaluationScale(zero), words);
    }

    @Test
    void zeroMatrixUnderThePlainBaseOptimizerIsFine() {
        Transfer plain = Transfer.plain(new Base(0.1));
        Step step = plain.step(State.start("embed", 0), new Reading(0, 3, 0), 0.5);
        assertThat(step.keep()).isEqualTo(0.95);
        assertThat(step.push()).isEqualTo(0.5);
        assertThat(step.next()).isEqualTo(new State("embed", 1, 0, 1.5, 1.5));
        Step second = plain.step(step.next(), new Reading(1.5, 3, -4.5), 0.5);
        assertThat(second.next().norm()).isCloseTo(0.95 * 1.5 + 1.5, within(1e-15));
        Step still = plain.step(State.start("embed", 0), new Reading(0, 0, 0), 0.5);
        assertThat(still.effective()).isZero();
        assertThat(still.next().norm()).isZero();
    }

    /** u along w with a = 1: w - w is nowhere on the sphere. */
    @Test
    void stepOntoTheOrigin() {
        diverged(Transfer.plain(new Hyperball()), new Reading(2, 3, 6), 1, "origin", "lower the learning rate");
    }

    /** Finite readings and a finite rate can still give a norm beyond a double: the state is not to blame. */
    @Test
    void stepBeyondADouble() {
        for (Mode mode : new Mode[] {Mode.BASE, Mode.HYPERTRANSFER, Mode.DECAY_TRANSFER}) {
            diverged(mode.transfer(0), new Reading(2, 1e300, 0), 2e8, "Infinity", "lower the learning rate");
        }
    }

    @Test
    void unknownMode() {
        Refused.refused(
                () -> Mode.parse("hypertransfr"), "hypertransfr", "inverse-hypertransfer-plus", "decay-transfer");
    }

    /** Bad input, which is never called divergence. */
    private static void refused(Transfer transfer, Reading reading, double e, String... words) {
        thrown(transfer, reading, e, words).isExactlyInstanceOf(Refusal.class);
    }

    /** Divergence says so by its type, and names the matrix and the step without the text. */
    private static void diverged(Transfer transfer, Reading reading, double e, String... words) {
        thrown(transfer, reading, e, words)
                .isExactlyInstanceOf(Diverged.class)
                .isInstanceOfSatisfying(Diverged.class, d -> {
                    assertThat(d.matrix()).contains("blocks.2.mlp.fc.weight");
                    assertThat(d.step()).isEqualTo(41);
                });
    }

    private static AbstractThrowableAssert<?, ?> thrown(Transfer transfer, Reading reading, double e, String... words) {
        return assertThatThrownBy(() -> transfer.step(STATE, reading, e))
                .hasMessageStartingWith("blocks.2.mlp.fc.weight at step 41: ")
                .hasMessageContainingAll(words);
    }
}
