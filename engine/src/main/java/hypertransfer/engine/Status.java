package hypertransfer.engine;

/**
 * What an engine, or what carries bytes between ranks, is like on this machine.
 *
 * @param missing what would make it work; empty where it does
 */
public record Status(String name, String description, String missing) {
    public boolean works() {
        return missing.isEmpty();
    }
}
