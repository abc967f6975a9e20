package hypertransfer.core;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.core.Space.Base;
import hypertransfer.core.Space.Hyperball;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The table of names. */
class ModeTest {
    private static final Space BASE = new Base(0.1);
    private static final Space BALL = new Hyperball();

    @Test
    void everyNameIsItsTransfer() {
        Map<String, Transfer> table = Map.of(
                "base", new Transfer(BASE, BASE, GradientRule.AS_IS),
                "hyperball", new Transfer(BALL, BALL, GradientRule.AS_IS),
                "hypertransfer", new Transfer(BASE, BALL, GradientRule.RESCALED),
                "inverse-hypertransfer", new Transfer(BALL, BASE, GradientRule.RESCALED),
                "hypertransfer-plus", new Transfer(BASE, BALL, GradientRule.REPRESENTATIVE),
                "inverse-hypertransfer-plus", new Transfer(BALL, BASE, GradientRule.REPRESENTATIVE),
                "fair", new Transfer(BALL, BASE, GradientRule.AS_IS),
                "decay-transfer", new Transfer(BASE, BASE, GradientRule.RESCALED));
        assertThat(table).hasSize(Mode.values().length);
        table.forEach((label, transfer) -> {
            assertThat(Mode.parse(label).transfer(0.1)).as(label).isEqualTo(transfer);
            assertThat(transfer.isPlain()).isEqualTo(label.equals("base") || label.equals("hyperball"));
        });
    }

    @Test
    void theOtherDecayIsTheTargets() {
        Transfer transfer = Mode.DECAY_TRANSFER.transfer(0.1).following(new Base(0.3));
        assertThat(transfer).isEqualTo(new Transfer(new Base(0.3), BASE, GradientRule.RESCALED));
    }
}
