package hypertransfer.lab.terminal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
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

    /** The second was handled before the first had noted when it came, and ended the process. */
    @Test
    void twoSignalsInTwoThreadsAreOne() throws Exception {
        List<Integer> halted = Collections.synchronizedList(new ArrayList<>());
        Interrupt[] interrupt = new Interrupt[1];
        Thread second = new Thread(() -> interrupt[0].received());
        AtomicBoolean started = new AtomicBoolean();
        LongSupplier clock = () -> {
            if (!started.getAndSet(true)) { // asked by the first, which was told and has noted nothing yet
                second.start();
                while (second.getState() != Thread.State.BLOCKED && second.isAlive()) {
                    Thread.onSpinWait();
                }
            }
            return 60_000_000_000L;
        };
        try (Interrupt one = new Interrupt(false, clock, halted::add)) {
            interrupt[0] = one;
            one.getAsBoolean();
            one.received();
            second.join();
            assertThat(one.told()).isTrue();
            assertThat(halted).as("it saves").isEmpty();
        }
    }
}
