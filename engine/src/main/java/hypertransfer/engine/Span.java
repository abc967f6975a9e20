package hypertransfer.engine;

import java.util.function.ObjDoubleConsumer;
import java.util.function.Supplier;

/**
 * A part of the work that somebody may want to see the time of. Whoever wants it binds {@link #OBSERVER} around the work;
 * without an observer nothing is measured. Only the thread that observes, and what it calls, is measured.
 */
public final class Span {
    /** Told the name of each part and its seconds; a name may come several times. */
    public static final ScopedValue<ObjDoubleConsumer<String>> OBSERVER = ScopedValue.newInstance();

    private Span() {}

    public static <T> T of(String name, Supplier<T> work) {
        if (!OBSERVER.isBound()) {
            return work.get();
        }
        long start = System.nanoTime();
        T result = work.get();
        OBSERVER.get().accept(name, (System.nanoTime() - start) / 1e9);
        return result;
    }

    public static void of(String name, Runnable work) {
        of(name, () -> {
            work.run();
            return null;
        });
    }
}
