package hypertransfer.lab.terminal;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.function.IntConsumer;
import java.util.function.LongSupplier;
import sun.misc.Signal;
import sun.misc.SignalHandler;

/**
 * Ctrl-C, SIGTERM and SIGHUP. Work that asks whether it was told to stop is given the time to save; a second signal,
 * half a second later or more, or a first one while there is nothing to save, stops it immediately.
 */
public final class Interrupt implements BooleanSupplier, AutoCloseable {
    private static final String[] SIGNALS = {"INT", "TERM", "HUP"};

    /** timeout(1) and mpirun send a signal to the process and again to its group: these are one. */
    private static final long ONE = 500_000_000;

    private final AtomicBoolean told = new AtomicBoolean();
    private volatile long first; // when it was told, in nanoseconds
    private volatile boolean saves;
    private final Map<String, SignalHandler> before = new HashMap<>();

    private final boolean tells;
    private final LongSupplier clock; // in nanoseconds
    private final IntConsumer halt; // ends the process with a code, whatever it does

    public Interrupt() {
        this(true);
    }

    /**
     * For one of several ranks.
     *
     * @param tells whether it says what it will do: one of them is enough
     */
    public Interrupt(boolean tells) {
        this(tells, System::nanoTime, Runtime.getRuntime()::halt);
    }

    Interrupt(boolean tells, LongSupplier clock, IntConsumer halt) {
        this.tells = tells;
        this.clock = clock;
        this.halt = halt;
        for (String signal : SIGNALS) {
            before.put(signal, Signal.handle(new Signal(signal), received -> received()));
        }
    }

    /** One at a time: two signals come in two threads, and the second must see when the first one came. */
    synchronized void received() {
        if (!saves) {
            tell("stopped");
            System.exit(Exit.INTERRUPTED);
        }
        if (told.getAndSet(true)) {
            if (clock.getAsLong() - first > ONE) {
                halt.accept(Exit.INTERRUPTED);
            }
            return;
        }
        first = clock.getAsLong();
        tell("saving, then stopping (Ctrl-C again stops immediately)");
    }

    private void tell(String words) {
        if (tells) {
            System.err.println("\nht: " + words);
        }
    }

    /** Whether to stop. Who asks will save first, until {@link #rest}. */
    @Override
    public boolean getAsBoolean() {
        if (!saves) { // asked often: a write would take the line from the other cores every time
            saves = true;
        }
        return told.get();
    }

    /** Whether it was told to stop, for those who have nothing to save. */
    public boolean told() {
        return told.get();
    }

    /** From now on there is nothing to save, until somebody asks again. */
    public void rest() {
        saves = false;
    }

    @Override
    public void close() {
        before.forEach((signal, handler) -> Signal.handle(new Signal(signal), handler));
    }
}
