package hypertransfer.core;

/** Input that cannot be honoured. The message is for the user: the value met, what was expected, what to do next. */
public final class Refusal extends RuntimeException {
    public Refusal(String message) {
        super(message);
    }

    public Refusal(String message, Throwable cause) {
        super(message, cause);
    }
}
