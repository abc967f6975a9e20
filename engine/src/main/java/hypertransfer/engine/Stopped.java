package hypertransfer.engine;

import java.util.function.BooleanSupplier;

/** Work inside {@link Engine#until} was given up because it was told to stop. */
public final class Stopped extends RuntimeException {
    private static final ScopedValue<BooleanSupplier> WISH = ScopedValue.newInstance();

    /** Does work during which this thread is {@link #wished} to stop where the supplier says so. */
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
