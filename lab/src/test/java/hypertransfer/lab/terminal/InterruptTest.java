package hypertransfer.lab.terminal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class InterruptTest {
    private long now = 7;

    /** timeout(1) sends a signal twice: the second was taken for a second Ctrl-C, and nothing was saved. */
    @Test
    void twoSignalsAtOnceAreOne() {
        List<Integer> halted = new ArrayList<>();
        try (Interrupt interrupt = new Interrupt(false, () -> now, halted::add)) {
            assertThat(interrupt.getAsBoolean()).isFalse();
            interrupt.received();
            assertThat(interrupt.getAsBoolean()).isTrue();
            interrupt.received();
            now += 400_000_000;
            interrupt.received();
            assertThat(halted).as("it saves").isEmpty();
            now += 200_000_000;
            interrupt.received();
            assertThat(halted).containsExactly(130);
        }
    }
}
