package hypertransfer.lab.terminal;

import java.io.Console;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * How many columns there are to write on.
 *
 * @param columns as many as a line may take; no line is too long for a file
 */
public record Width(int columns) {
    private static final int USUAL = 80;
    private static final Width UNLIMITED = new Width(Integer.MAX_VALUE);
    private static final List<String> ASK = List.of("/bin/sh", "-c", "stty size </dev/tty");

    public static boolean terminal() {
        Console console = System.console();
        return console != null && console.isTerminal();
    }

    /** The terminal's width as it is now; unlimited where the output is not a terminal. */
    public static Width here() {
        return terminal() ? of(System.getenv(), asked()) : UNLIMITED;
    }

    /** What the terminal answered, else what COLUMNS says, else the usual. */
    static Width of(Map<String, String> environment, String answer) {
        for (String text : new String[] {answer.replaceFirst("^\\d+ ", ""), environment.getOrDefault("COLUMNS", "")}) {
            if (text.strip().matches("[1-9]\\d{0,4}")) {
                return new Width(Integer.parseInt(text.strip()));
            }
        }
        return new Width(USUAL);
    }

    private static String asked() {
        try {
            Process stty = new ProcessBuilder(ASK)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            return stty.waitFor(1, TimeUnit.SECONDS)
                    ? new String(stty.getInputStream().readAllBytes())
                    : "";
        } catch (IOException e) { // no shell: then the usual width must do
            return "";
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return "";
        }
    }

    /** As many of the fields as fit, the first ones first; the last column stays free, or some terminals wrap. */
    public String join(List<String> fields) {
        StringBuilder line = new StringBuilder(fields.getFirst());
        for (String field : fields.subList(1, fields.size())) {
            if (line.length() + 3L + field.length() >= columns) {
                break;
            }
            line.append(" | ").append(field);
        }
        return cut(line.toString());
    }

    /** A text with every line cut where it would wrap. */
    public String cut(String text) {
        return text.lines()
                        .map(line -> line.length() < columns ? line : line.substring(0, Math.max(0, columns - 2)) + "…")
                        .collect(Collectors.joining("\n"))
                + (text.endsWith("\n") ? "\n" : "");
    }

    /** A text with every line that is too long continued below, indented by so much. */
    public String fold(String text, int indent) {
        return text.lines().map(line -> foldLine(line, indent)).collect(Collectors.joining("\n"));
    }

    /** Where to print tables and sentences, so that none wraps in the middle of a word. */
    public static PrintWriter folded(PrintWriter out) {
        return terminal() ? new PrintWriter(new Folding(out, here())) : out;
    }

    private String foldLine(String line, int indent) {
        if (line.replaceAll("\u001b\\[\\d*m", "").length() < columns) { // colours take no room
            return line;
        }
        int space = line.lastIndexOf(' ', columns - 1);
        return space <= indent // one long word, such as a path, which must stay whole
                ? line
                : line.substring(0, space) + "\n" + foldLine(" ".repeat(indent) + line.substring(space + 1), indent);
    }

    /**
     * Names in at most so many columns: without the folders that all share; then their ends, or if these are equal for two
     * of them, their beginnings and ends; then whole names, if not even these tell them apart.
     */
    public static List<String> apart(List<String> names, int columns) {
        if (names.stream().allMatch(name -> name.length() <= columns)) {
            return names;
        }
        String one = names.getFirst();
        int folders = one.lastIndexOf('/') + 1;
        while (!allBegin(names, one.substring(0, folders))) {
            folders = one.lastIndexOf('/', folders - 2) + 1;
        }
        int shared = folders;
        List<String> rest = names.stream().map(name -> name.substring(shared)).toList();
        for (int first : new int[] {0, (columns - 1) / 2}) {
            List<String> cut = rest.stream()
                    .map(name -> name.length() <= columns
                            ? name
                            : name.substring(0, first) + "…" + name.substring(name.length() - (columns - 1 - first)))
                    .toList();
            if (new HashSet<>(cut).size() == new HashSet<>(names).size()) {
                return cut;
            }
        }
        return rest;
    }

    private static boolean allBegin(List<String> names, String path) {
        return names.stream().allMatch(name -> name.startsWith(path));
    }

    /** Text for a terminal: a line that is too long is continued below, a command so that it can be copied, without remarks. */
    static final class Folding extends Writer {
        private static final int INDENT = 4;

        private final PrintWriter out;
        private final Width width;
        private final StringBuilder line = new StringBuilder();

        Folding(PrintWriter out, Width width) {
            this.out = out;
            this.width = width;
        }

        @Override
        public void write(char[] text, int from, int count) {
            for (int i = from; i < from + count; i++) {
                if (text[i] == '\n') {
                    out.println(shown());
                    line.setLength(0);
                } else if (text[i] != '\r') {
                    line.append(text[i]);
                }
            }
        }

        private String shown() {
            String text = line.toString();
            if (!text.matches("(next: | +)ht .*")) {
                return width.fold(text, INDENT);
            }
            String command = text.length() < width.columns() ? text : text.replaceFirst(" +# .*", "");
            return new Width(width.columns() - 2).fold(command, 2 * INDENT).replace("\n", " \\\n");
        }

        @Override
        public void flush() {
            out.flush();
        }

        @Override
        public void close() {
            out.print(shown());
            out.flush();
        }
    }

    /** Bytes as people read them. */
    public static String size(long bytes) {
        double gib = bytes / (double) (1L << 30);
        return gib >= 0.1 ? String.format("%.1f GiB", gib) : String.format("%.1f MiB", bytes / (double) (1L << 20));
    }
}
