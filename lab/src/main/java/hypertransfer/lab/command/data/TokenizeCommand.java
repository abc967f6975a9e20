package hypertransfer.lab.command.data;

import hypertransfer.engine.Dims;
import hypertransfer.lab.terminal.Meter;
import hypertransfer.lab.terminal.Width;
import hypertransfer.train.data.Tokenizer;
import hypertransfer.train.data.text.Vocabulary;
import hypertransfer.train.network.Preset;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(
        name = "tokenize",
        description = {
            "Turns text into shards of tokens, in llm.c's format.",
            "A document is a line of a .jsonl file (its field \"text\", or --field), the text between two lines "
                    + "<|endoftext|>, or a whole file; .gz is unpacked. Token 50256, or byte 0, precedes every "
                    + "document.",
            "If whole documents give too few validation tokens, the end of the text is kept for validation."
        },
        footer = {
            "  ht data tokenize books/ --out data/books",
            "  ht data tokenize crawl.jsonl.gz --out data/crawl --validation 0.001",
            "  ht data tokenize notes.txt --out data/notes --tokens bytes",
            "  ht data tokenize crawl.jsonl --out data/crawl --field content --skip-bad \\",
            "      --shuffle 1"
        })
public final class TokenizeCommand implements Runnable {
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

    @Option(names = "--tokens", paramLabel = "NAME", description = "gpt2 or bytes (default: ${DEFAULT-VALUE}).")
    private String tokens = "gpt2";

    @Option(
            names = "--validation",
            paramLabel = "SHARE",
            description = "The share of documents kept for validation; 0 for none (default: ${DEFAULT-VALUE}).")
    private double validation = 0.01;

    @Option(
            names = "--validation-tokens",
            paramLabel = "N",
            description = "The fewest tokens of validation (default: one micro-batch of the smallest preset, "
                    + "1025, or 2049 bytes).")
    private Long fewest;

    @Option(
            names = "--field",
            paramLabel = "NAME",
            description = "The field of a .jsonl line that holds the text (default: ${DEFAULT-VALUE}).")
    private String field = "text";

    @Option(names = "--skip-bad", description = "Leave out lines that cannot be read, and count them.")
    private boolean skip;

    @Option(
            names = "--shuffle",
            paramLabel = "SEED",
            description = "Shuffle all documents; the same seed gives the same order (default: as they are read).")
    private Long seed;

    @Option(names = "--shard-tokens", paramLabel = "N", description = "Tokens in a shard (default: ${DEFAULT-VALUE}).")
    private long shardTokens = 100_000_000;

    @Option(
            names = "--threads",
            paramLabel = "N",
            description = "Number of threads; the shards do not depend on it (default: all cores).")
    private int threads = Runtime.getRuntime().availableProcessors();

    @Option(names = "--force", description = "Replace existing shards.")
    private boolean force;

    @Override
    public void run() {
        Vocabulary vocabulary = Vocabulary.parse(tokens);
        PrintWriter err = spec.commandLine().getErr(),
                print = spec.commandLine().getOut();
        if (!force && Tokenizer.finish(out)) {
            print.println("the shards of a process that was killed were all written, and are whole now in " + out
                    + "; --force tokenizes again");
            return;
        }
        Meter meter = new Meter(err, Width.terminal(), Width.here(), System::nanoTime);
        var held = new Tokenizer.Held(validation, fewest == null ? smallest(vocabulary) : fewest);
        var order = seed == null ? OptionalLong.empty() : OptionalLong.of(seed);
        var options = new Tokenizer.Options(vocabulary, field, skip, held, order, shardTokens, force, threads);
        Tokenizer tokenizer = new Tokenizer(out, options);
        Thread cleanup = new Thread(tokenizer::close); // Ctrl-C leaves no half shard
        Runtime.getRuntime().addShutdownHook(cleanup);
        try {
            Tokenizer.Result result;
            try (meter) {
                result = tokenizer.run(places, meter);
            }
            report(result, vocabulary, print, err);
        } finally {
            removeHook(cleanup);
        }
    }

    /** What one micro-batch takes of the smallest preset that has this vocabulary: its tokens and the one behind. */
    private static long smallest(Vocabulary vocabulary) {
        return 1
                + Arrays.stream(Preset.values())
                        .map(preset -> preset.architecture.dims(preset.batch))
                        .filter(dims -> dims.V() >= Vocabulary.GPT2.size == (vocabulary == Vocabulary.GPT2))
                        .mapToLong(Dims::N)
                        .min()
                        .orElseThrow();
    }

    private static void removeHook(Thread cleanup) {
        try {
            Runtime.getRuntime().removeShutdownHook(cleanup);
        } catch (IllegalStateException _) {
            // The machine is going down already: the hook runs.
        }
    }

    private static void report(Tokenizer.Result result, Vocabulary vocabulary, PrintWriter print, PrintWriter err) {
        print.printf("documents   %,d%n", result.documents());
        print.printf("train       %s%n", shards(result.train()));
        print.printf("validation  %s%n", shards(result.validation()));
        if (result.moved() > 0) {
            print.printf(
                    "            %,d of these are the end of the text: whole documents gave too few%n", result.moved());
        }
        if (result.skipped() > 0) {
            print.printf("skipped     %,d lines that cannot be read%n", result.skipped());
            err.println("ht: the first that was skipped: " + result.firstSkipped());
        }
        if (vocabulary == Vocabulary.BYTES) {
            print.println("separator   byte 0 stands before every document: 256 ids leave no other");
        }
    }

    private static String shards(Tokenizer.Written written) {
        List<Path> files = written.files();
        String names = switch (files.size()) {
            case 0 -> "no shard";
            case 1 -> files.getFirst().toString();
            default -> files.getFirst() + " to " + files.getLast().getFileName();
        };
        return String.format("%,d tokens in %s", written.tokens(), names);
    }
}
