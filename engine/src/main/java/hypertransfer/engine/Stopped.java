package hypertransfer.engine;

/** Work inside {@link Engine#until} was given up because it was told to stop. */
public final class Stopped extends RuntimeException {
    public Stopped() {
        super("told to stop", null, false, false);
    }
}
