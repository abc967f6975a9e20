package hypertransfer.engine;

import java.util.Locale;
import java.util.Map;

/**
 * How many bytes each role takes.
 *
 * @param messages bytes that travel between ranks, which lie beside the engine's own memory
 */
public record Memory(Map<Role, Long> bytes, long messages) {
    public Memory(Map<Role, Long> bytes) {
        this(bytes, 0);
    }

    public long total() {
        return bytes.values().stream().mapToLong(Long::longValue).sum() + messages;
    }

    /** One line per role, one for messages where there are any, and the sum. */
    public String table() {
        StringBuilder table = new StringBuilder("memory\n");
        bytes.forEach((role, n) ->
                table.append(line(role.name().toLowerCase(Locale.ROOT).replace('_', ' '), n)));
        if (messages > 0) {
            table.append(line("messages", messages));
        }
        return table.append(line("total", total())).toString();
    }

    /** What to do where it does not fit: about the directions, if what they remember is most of it. */
    public String remedy(String otherwise) {
        long state = bytes.getOrDefault(Role.STATE, 0L);
        return 2 * state > total()
                ? "the directions remember " + state / 1048576 + " MiB of it: choose one that remembers less"
                : otherwise;
    }

    private static String line(String name, long bytes) {
        return String.format(Locale.ROOT, "  %-15s %10.1f MiB%n", name, bytes / 1048576.0);
    }
}
