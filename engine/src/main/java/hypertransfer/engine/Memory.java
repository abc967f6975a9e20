package hypertransfer.engine;

import java.util.Locale;
import java.util.Map;

/** How many bytes each role takes. */
public record Memory(Map<Role, Long> bytes) {
    public long total() {
        return bytes.values().stream().mapToLong(Long::longValue).sum();
    }

    /** One line per role, and the sum. */
    public String table() {
        StringBuilder table = new StringBuilder("memory\n");
        bytes.forEach((role, n) ->
                table.append(line(role.name().toLowerCase(Locale.ROOT).replace('_', ' '), n)));
        return table.append(line("total", total())).toString();
    }

    private static String line(String name, long bytes) {
        return String.format(Locale.ROOT, "  %-15s %10.1f MiB%n", name, bytes / 1048576.0);
    }
}
