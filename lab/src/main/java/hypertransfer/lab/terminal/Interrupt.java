package hypertransfer.lab.terminal;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import sun.misc.Signal;
import sun.misc.SignalHandler;

/** Ctrl-C, SIGTERM and SIGHUP: the first asks the work to save and stop, the second stops it immediately. */
public final class Interrupt implements BooleanSupplier, AutoCloseable {
    private final AtomicBoolean asked = new AtomicBoolean();
    private final SignalHandler interrupted;
    private final SignalHandler terminated;

    public Interrupt() {
        interrupted = Signal.handle(new Signal("INT"), this::received);
        terminated = Signal.handle(new Signal("TERM"), this::received);
    }

    private void received(Signal signal) {
        if (asked.getAndSet(true)) {
            Runtime.getRuntime().halt(Exit.INTERRUPTED);
        }
        System.err.println("\nht: saving, then stopping (Ctrl-C again stops immediately)");
    }

    @Override
    public boolean getAsBoolean() {
        return asked.get();
    }

    @Override
    public void close() {
        Signal.handle(new Signal("INT"), interrupted);
        Signal.handle(new Signal("TERM"), terminated);
    }
}
