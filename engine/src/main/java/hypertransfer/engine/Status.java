package hypertransfer.engine;

/**
 * What an engine, or what carries bytes between ranks, is like on this machine.
 *
 * @param missing the one thing that would make it work; empty where it does
 */
public record Status(String name, boolean works, String description, String missing) {
    public Status(String name, String description, String missing) {
        this(name, missing.isEmpty(), description, missing);
    }
}
