package hypertransfer.core;

import static hypertransfer.core.Refused.refused;
import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What survives a checkpoint. */
class StateTest {

    @Test
    void startsWithTheTargetOnTheCarrier() {
        assertThat(State.start("w", 2.5)).isEqualTo(new State("w", 0, 2.5, 2.5, 2.5));
        State later = new State("w", 8, 2.5, 2.75, 3);
        assertThat(later.withTargetNorm(7)).isEqualTo(new State("w", 8, 2.5, 2.75, 7));
        refused(() -> new State("head", -1, 1, 1, 1), "head", "step -1");
    }

    @ParameterizedTest
    @ValueSource(doubles = {Double.NaN, Double.POSITIVE_INFINITY, -1})
    void refusesDamage(double bad) {
        refused(() -> new State("head", 9, bad, 1, 1), "head", "step 9", "" + bad);
        refused(() -> new State("head", 9, 1, bad, 1), "head", "step 9", "" + bad);
        refused(() -> new State("head", 9, 1, 1, bad), "head", "step 9", "target norm " + bad, "good checkpoint");
    }
}
