package hypertransfer.lab.command.data;

import hypertransfer.lab.terminal.Exit;
import hypertransfer.train.data.Shard;
import hypertransfer.train.data.text.Vocabulary;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code ht data inspect}: what a shard holds. */
@Command(
        name = "inspect",
        description = "Checks a shard and shows its header, its counts, and how it begins.",
        footer = {"", "Examples:", "  ht data inspect data/books/books_train_000001.bin --vocab 50257"})
public final class InspectCommand implements Callable<Integer> {
    private static final int FIRST = 64;

    @Spec
    private CommandSpec spec;

    @Parameters(paramLabel = "SHARD", description = "The file.")
    private Path file;

    @Option(
            names = "--vocab",
            paramLabel = "N",
            description = "Refuse token ids of N or more (default: any that fit 16 bits).")
    private int vocabulary = Shard.ANY_VOCABULARY;

    @Override
    public Integer call() {
        PrintWriter out = spec.commandLine().getOut();
        try (Shard shard = Shard.open(file, vocabulary)) {
            out.printf(Locale.ROOT, "file        %s%n", file);
            out.printf(Locale.ROOT, "header      magic %d, version %d%n", Shard.MAGIC, Shard.VERSION);
            out.printf(Locale.ROOT, "tokens      %,d%n", shard.count());
            if (shard.count() > 0) {
                // The format does not say what its tokens are; ids that all fit a byte are taken for bytes.
                long[] occurrences = shard.histogram();
                int[] used = IntStream.range(0, occurrences.length)
                        .filter(id -> occurrences[id] > 0)
                        .toArray();
                int smallest = used[0], largest = used[used.length - 1];
                Vocabulary tokens = largest < Vocabulary.BYTES.size() ? Vocabulary.BYTES : Vocabulary.GPT2;
                int[] first = shard.first(FIRST);
                out.printf(Locale.ROOT, "ids         %,d different, %d to %d%n", used.length, smallest, largest);
                out.printf(
                        Locale.ROOT,
                        "documents   %,d begin here (token %d)%n",
                        occurrences[tokens.separator()],
                        tokens.separator());
                out.printf(
                        "first ids   %s%n",
                        Arrays.stream(first).mapToObj(Integer::toString).collect(Collectors.joining(" ")));
                out.printf("as %-8s %s%n", tokens.label(), tokens.decode(first));
            }
            out.flush();
        }
        return Exit.FINE;
    }
}
