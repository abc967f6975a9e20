package hypertransfer.lab.answer;

import hypertransfer.core.Refusal;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.stream.Collectors;

/** A table for other programs: commas, a header, every double exact. The file appears when it is closed, whole. */
public final class Csv implements AutoCloseable {
    private final Path file;
    private final Path beside;
    private final PrintWriter out;

    /** Opens a new file and writes its header. */
    public Csv(Path file, String... columns) {
        if (Files.exists(file)) {
            throw new Refusal(file + " is already there; choose another --csv");
        }
        this.file = file;
        beside = file.resolveSibling(file.getFileName() + ".part");
        try {
            if (file.toAbsolutePath().getParent() != null) {
                Files.createDirectories(file.toAbsolutePath().getParent());
            }
            out = new PrintWriter(Files.newBufferedWriter(beside));
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
        try {
            if (out.checkError()) {
                Files.deleteIfExists(beside);
                throw new UncheckedIOException(
                        "cannot write " + file + " to its end; make room, then run it again",
                        new IOException("No space left, or another error of the disk"));
            }
            Files.move(beside, file, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot write " + file + ": " + e.getMessage(), e);
        }
    }
}
