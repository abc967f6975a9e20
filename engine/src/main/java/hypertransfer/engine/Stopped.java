package hypertransfer.engine;

import java.util.function.BooleanSupplier;

/** Work inside {@link #until} was given up because it was told to stop. */
public final class Stopped extends RuntimeException {
    private static final ScopedValue<BooleanSupplier> WISH = ScopedValue.newInstance();

    /**
     * Does work that may be given up: once it is told to stop, an engine whose operations take seconds throws this from one of
     * them. What the work would have written is then undefined.
     *
     * @param stop asked often, always by the thread that calls
     */
    public static void until(BooleanSupplier stop, Runnable work) {
        ScopedValue.where(WISH, stop).run(work);
    }

    /** Asks whether the work of this thread is to be given up. */
    public static boolean wished() {
        return WISH.isBound() && WISH.get().getAsBoolean();
    }

    public Stopped() {
        super("told to stop", null, false, false);
    }
}
