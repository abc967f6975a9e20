package hypertransfer.core;

import static hypertransfer.core.Refused.refused;
import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.core.Space.Base;
import hypertransfer.core.Space.Hyperball;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What survives a checkpoint. */
class StateTest {

    /** A record's equality compares doubles by their bits. */
    @Test
    void goesOnFromPrintedNumbersBitForBit() {
        Draws.forAll("printed state", random -> {
            Space target = random.nextBoolean() ? new Base(random.nextDouble()) : new Hyperball();
            Space carrier = random.nextBoolean() ? new Base(random.nextDouble()) : new Hyperball();
            Transfer transfer = new Transfer(target, carrier, GradientRule.RESCALED);
            double[] w = Draws.vector(random, 4, Draws.norm(random));
            double[] resumed = w;
            State state =
                    State.start("blocks.0.attn.q.weight", Explicit.norm(w)).withTargetNorm(Draws.norm(random));
            State restored = printed(state);
            for (int t = 0; t < 5; t++) {
                assertThat(restored).isEqualTo(state);
                double[] u = Draws.vector(random, 4, Draws.norm(random));
                double e = random.nextDouble(0.5);
                Step step = transfer.step(state, Explicit.reading(w, u), e);
                Step again = transfer.step(restored, Explicit.reading(resumed, u), e);
                assertThat(again).isEqualTo(step);
                w = Explicit.moved(step, w, u);
                resumed = Explicit.moved(again, resumed, u);
                assertThat(resumed).isEqualTo(w);
                state = step.next();
                restored = printed(again.next());
            }
        });
    }

    private static State printed(State s) {
        double[] read = DoubleStream.of(s.R(), s.norm(), s.targetNorm())
                .map(x -> Double.parseDouble(Double.toString(x)))
                .toArray();
        return new State(s.matrix(), s.step(), read[0], read[1], read[2]);
    }

    @Test
    void startsWithTheTargetOnTheCarrier() {
        assertThat(State.start("w", 2.5)).isEqualTo(new State("w", 0, 2.5, 2.5, 2.5));
        State later = new State("w", 8, 2.5, 2.75, 3);
        assertThat(later.withTargetNorm(7)).isEqualTo(new State("w", 8, 2.5, 2.75, 7));
    }

    @ParameterizedTest
    @ValueSource(doubles = {Double.NaN, Double.POSITIVE_INFINITY, -1})
    void refusesDamage(double bad) {
        refused(() -> new State("head", 9, bad, 1, 1), "head", "step 9", "" + bad);
        refused(() -> new State("head", 9, 1, bad, 1), "head", "step 9", "" + bad);
        refused(() -> new State("head", 9, 1, 1, bad), "head", "step 9", "target norm " + bad, "good checkpoint");
    }

    @Test
    void refusesANegativeStep() {
        refused(() -> new State("head", -1, 1, 1, 1), "head", "step -1");
    }
}
