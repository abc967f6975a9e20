package hypertransfer.lab.command.option;

import hypertransfer.train.file.Atomic;
import java.io.BufferedWriter;
import java.io.Writer;
import java.nio.channels.Channels;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.function.Consumer;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVPrinter;

/** A table for other programs: commas, a header, every double exact, nothing where a number is unknown. */
public record Csv(Path file, CSVPrinter out) {
    /** Writes a new file with a header, whole or not at all: where a row fails, there is no file. */
    public static void write(Path file, String header, Consumer<Csv> rows) {
        Atomic.create(Atomic.placed(Options.Out.file("--csv", file)), "--csv", channel -> {
            Writer to = new BufferedWriter(Channels.newWriter(channel, StandardCharsets.UTF_8));
            var format = CSVFormat.DEFAULT.builder().setRecordSeparator("\n").get();
            Csv table = new Csv(file, new CSVPrinter(to, format));
            table.row((Object[]) header.split(","));
            rows.accept(table);
            table.out.flush();
        });
    }

    public void row(Object... cells) {
        Atomic.told("write", file, () -> {
            out.printRecord(Arrays.stream(cells).map(cell -> cell instanceof Double d && d.isNaN() ? null : cell));
            return null;
        });
    }
}
