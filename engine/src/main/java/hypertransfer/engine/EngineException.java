package hypertransfer.engine;

/** An engine that cannot do what was asked. The message is for the user: what was met, and what would make it work. */
public final class EngineException extends RuntimeException {
    public EngineException(String message) {
        super(message);
    }

    public EngineException(String message, Throwable cause) {
        super(message, cause);
    }
}
