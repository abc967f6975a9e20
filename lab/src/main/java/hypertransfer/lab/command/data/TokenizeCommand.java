package hypertransfer.lab.command.data;

import hypertransfer.lab.terminal.Exit;
import hypertransfer.lab.terminal.Meter;
import hypertransfer.lab.terminal.Width;
import hypertransfer.train.data.Tokenizer;
import hypertransfer.train.data.text.Vocabulary;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code ht data tokenize}: text to shards. */
@Command(
        name = "tokenize",
        description = {
            "Turns text into shards of tokens, in llm.c's format.",
            "A document is a line of a .jsonl file (its field \"text\"), what stands between lines <|endoftext|> of a "
                    + "text, or a whole file; .gz is unpacked. Before every document stands token 50256, or byte 0."
        },
        footer = {
            "",
            "Examples:",
            "  ht data tokenize books/ --out data/books",
            "  ht data tokenize crawl.jsonl.gz --out data/crawl --validation 0.001",
            "  ht data tokenize notes.txt --out data/notes --tokens bytes"
        })
public final class TokenizeCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec;

    @Parameters(
            arity = "1..*",
            paramLabel = "IN",
            description = "Text files, .jsonl files, .gz of these, directories of .txt, .md, .jsonl, or - for the "
                    + "standard input.")
    private List<String> places;

    @Option(
            names = "--out",
            required = true,
            paramLabel = "DIR",
            description = "The directory for the shards, which are named after it.")
    private Path out;

    @Option(names = "--tokens", defaultValue = "gpt2", description = "gpt2 or bytes (default: ${DEFAULT-VALUE}).")
    private String tokens;

    @Option(
            names = "--validation",
            defaultValue = "0.01",
            paramLabel = "SHARE",
            description = "The share of documents kept for validation (default: ${DEFAULT-VALUE}).")
    private double validation;

    @Option(
            names = "--shard-tokens",
            defaultValue = "100000000",
            paramLabel = "N",
            description = "Tokens in a shard (default: ${DEFAULT-VALUE}).")
    private long shardTokens;

    @Option(
            names = "--threads",
            paramLabel = "N",
            description = "Number of threads; the shards do not depend on it (default: all cores).")
    private int threads = Runtime.getRuntime().availableProcessors();

    @Option(names = "--force", description = "Replace existing shards.")
    private boolean force;

    @Override
    public Integer call() {
        Vocabulary vocabulary = Vocabulary.parse(tokens);
        PrintWriter err = spec.commandLine().getErr();
        Meter meter = new Meter(err, Width.terminal(), Width.here(), System::nanoTime);
        Tokenizer tokenizer =
                new Tokenizer(out, new Tokenizer.Options(vocabulary, validation, shardTokens, force, threads));
        Thread cleanup = new Thread(tokenizer::close); // Ctrl-C leaves no half shard
        Runtime.getRuntime().addShutdownHook(cleanup);
        try {
            Tokenizer.Result result;
            try (meter) {
                result = tokenizer.run(places, meter);
            }
            report(result, vocabulary, err);
        } finally {
            removeHook(cleanup);
        }
        return Exit.FINE;
    }

    private static void removeHook(Thread cleanup) {
        try {
            Runtime.getRuntime().removeShutdownHook(cleanup);
        } catch (IllegalStateException _) {
            // The machine is going down already: the hook runs.
        }
    }

    private void report(Tokenizer.Result result, Vocabulary vocabulary, PrintWriter err) {
        PrintWriter print = spec.commandLine().getOut();
        print.printf(Locale.ROOT, "documents   %,d%n", result.documents());
        print.printf(Locale.ROOT, "train       %,d tokens in %s%n", result.trainTokens(), names(result.train()));
        print.printf(
                Locale.ROOT, "validation  %,d tokens in %s%n", result.validationTokens(), names(result.validation()));
        if (vocabulary == Vocabulary.BYTES) {
            print.println("separator   byte 0 stands before every document: 256 ids leave no other");
        }
        print.flush();
        if (validation > 0 && result.validation().isEmpty()) {
            err.println(
                    "ht: none of " + result.documents() + " documents fell to validation; give more documents (a line "
                            + "<|endoftext|> separates them), or a larger --validation");
            err.flush();
        }
    }

    private static String names(List<Path> files) {
        return switch (files.size()) {
            case 0 -> "no shard";
            case 1 -> files.getFirst().toString();
            default -> files.getFirst() + " to " + files.getLast().getFileName();
        };
    }
}
