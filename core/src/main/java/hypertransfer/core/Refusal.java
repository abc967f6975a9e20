package hypertransfer.core;

/**
 * Input that cannot be used. The message is for the user: the value met, what was expected, what to do next.
 *
 * <p>{@link Diverged} is the one refusal that is not the caller's mistake: the input was good, and the training ran
 * away. A {@code switch} tells the two apart, with {@code case Diverged} before {@code case Refusal}. What the outside
 * world refuses (a full disk, a missing permission) is no refusal but a {@link java.io.UncheckedIOException}.
 */
public sealed class Refusal extends RuntimeException permits Diverged {
    /**
     * A refusal with nothing behind it.
     *
     * @param message one sentence: the value met, what was expected, what to do next
     */
    public Refusal(String message) {
        super(message);
    }

    /**
     * A refusal with what lies behind it.
     *
     * @param message one sentence: the value met, what was expected, what to do next
     * @param cause what was thrown below
     */
    public Refusal(String message, Throwable cause) {
        super(message, cause);
    }
}
