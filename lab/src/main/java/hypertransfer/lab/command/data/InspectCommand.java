package hypertransfer.lab.command.data;

import hypertransfer.core.Refusal;
import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.terminal.Table;
import hypertransfer.train.data.Shard;
import hypertransfer.train.data.text.Vocabulary;
import hypertransfer.train.file.Folder;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
        name = "inspect",
        description = {
            "Reads shards in full and checks them.",
            "Shows the header, counts and the beginning of one file, or one line per shard of a directory."
        },
        footer = {"  ht data inspect data/books", "  ht data inspect data/books/books_train_000001.bin --vocab 50257"})
public final class InspectCommand implements Runnable {
    private static final int FIRST = 64;

    @Parameters(paramLabel = "SHARD|DIR", description = "A shard, or a directory of shards.")
    private Path place;

    @Option(
            names = "--vocab",
            paramLabel = "N",
            description = "Refuse token ids of N or more (default: any that fit 16 bits).")
    private int vocabulary = Shard.ANY_VOCABULARY;

    @Mixin
    private JsonOption json;

    /** @param smallest -1, as the largest, where it is empty */
    private record Row(String file, long tokens, long documents, int ids, int smallest, int largest, String as) {}

    @Override
    public void run() {
        boolean directory = Files.isDirectory(place);
        List<Row> rows = new ArrayList<>();
        for (Path file : directory ? shards(place) : List.of(place)) {
            try (Shard shard = Shard.open(file, vocabulary)) {
                rows.add(row(file, shard));
                if (!directory && !json.only) {
                    show(rows.getFirst(), shard, json.out());
                }
            }
        }
        json.either(rows, out -> {
            if (directory) {
                table(rows, out);
            }
        });
    }

    private static List<Path> shards(Path directory) {
        List<Path> files = Folder.list(directory, "*.bin");
        if (files.isEmpty()) {
            throw new Refusal("there are no shards *.bin in " + directory + "; write some with ht data tokenize");
        }
        return files;
    }

    /** The format does not say what its tokens are; ids that all fit a byte are taken for bytes. */
    private static Row row(Path file, Shard shard) {
        long[] occurrences = shard.histogram();
        int[] used = IntStream.range(0, occurrences.length)
                .filter(id -> occurrences[id] > 0)
                .toArray();
        int smallest = used.length == 0 ? -1 : used[0], largest = used.length == 0 ? -1 : used[used.length - 1];
        Vocabulary tokens = largest < Vocabulary.BYTES.size ? Vocabulary.BYTES : Vocabulary.GPT2;
        long documents = occurrences[tokens.separator];
        String name = file.toString(), as = tokens.label();
        return new Row(name, shard.count(), documents, used.length, smallest, largest, as);
    }

    private static void show(Row row, Shard shard, PrintWriter out) {
        out.printf("file        %s%n", row.file);
        out.printf("header      magic %d, version %d%n", Shard.MAGIC, Shard.VERSION);
        out.printf("tokens      %,d%n", row.tokens);
        if (row.tokens > 0) {
            Vocabulary tokens = Vocabulary.parse(row.as);
            int[] first = shard.first(FIRST);
            out.printf("ids         %,d different, %d to %d%n", row.ids, row.smallest, row.largest);
            out.printf("documents   %,d start in this file (token %d)%n", row.documents, tokens.separator);
            out.printf(
                    "first ids   %s%n",
                    Arrays.stream(first).mapToObj(Integer::toString).collect(Collectors.joining(" ")));
            out.printf("as %-8s %s%n", row.as, tokens.decode(first));
        }
    }

    private static void table(List<Row> rows, PrintWriter out) {
        new Table<Row>()
                .column("shard", "%s", Row::file)
                .column("tokens", "%,15d", Row::tokens)
                .column("documents", "%,12d", Row::documents)
                .column("ids", "%14s", row -> row.tokens == 0 ? "none" : row.smallest + " to " + row.largest)
                .column("as", "%s", Row::as)
                .print(out, rows);
        out.printf(
                "%,d tokens in %d shards, without errors%n",
                rows.stream().mapToLong(Row::tokens).sum(), rows.size());
    }
}
