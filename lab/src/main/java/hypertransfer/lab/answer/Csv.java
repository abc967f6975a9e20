package hypertransfer.lab.answer;

import hypertransfer.core.Refusal;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.Collectors;

/** A table for other programs: commas, a header, every double exact. */
public final class Csv implements AutoCloseable {
    private final Path file;
    private final PrintWriter out;

    /** Opens a new file and writes its header. */
    public Csv(Path file, String... columns) {
        if (Files.exists(file)) {
            throw new Refusal(file + " is already there; choose another --csv");
        }
        this.file = file;
        try {
            if (file.toAbsolutePath().getParent() != null) {
                Files.createDirectories(file.toAbsolutePath().getParent());
            }
            out = new PrintWriter(Files.newBufferedWriter(file));
        } catch (IOException e) {
            throw new Refusal("cannot write " + file + ": " + e.getMessage(), e);
        }
        row((Object[]) columns);
    }

    /** Writes a row. */
    public void row(Object... cells) {
        out.println(Arrays.stream(cells).map(Csv::cell).collect(Collectors.joining(",")));
    }

    private static String cell(Object cell) {
        String text = cell instanceof Double d && d.isNaN() ? "" : cell.toString();
        return text.contains(",") || text.contains("\"") ? '"' + text.replace("\"", "\"\"") + '"' : text;
    }

    @Override
    public void close() {
        out.close();
        if (out.checkError()) {
            throw new Refusal("cannot write " + file + " to its end; is the disk full?");
        }
    }
}
