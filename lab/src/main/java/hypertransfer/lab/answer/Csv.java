package hypertransfer.lab.answer;

import hypertransfer.train.file.Atomic;
import java.io.BufferedWriter;
import java.io.Writer;
import java.nio.channels.Channels;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/** A table for other programs: commas, a header, every double exact. */
public final class Csv {
    private final Path file;
    private final Writer out;

    private Csv(Path file, Writer out) {
        this.file = file;
        this.out = out;
    }

    /** Writes a new file with a header, whole or not at all: where a row fails, there is no file. */
    public static void write(Path file, String header, Consumer<Csv> rows) {
        Atomic.told(
                "write",
                file,
                () -> Files.createDirectories(file.toAbsolutePath().getParent()));
        Atomic.create(file, "--csv", channel -> {
            Writer out = new BufferedWriter(Channels.newWriter(channel, StandardCharsets.UTF_8));
            Csv table = new Csv(file, out);
            table.row((Object[]) header.split(","));
            rows.accept(table);
            out.flush();
        });
    }

    public void row(Object... cells) {
        String row = Arrays.stream(cells).map(Csv::cell).collect(Collectors.joining(",", "", System.lineSeparator()));
        Atomic.told("write", file, () -> out.append(row));
    }

    private static String cell(Object cell) {
        String text = cell == null || cell instanceof Double d && d.isNaN() ? "" : cell.toString();
        return text.contains(",") || text.contains("\"") ? '"' + text.replace("\"", "\"\"") + '"' : text;
    }
}
