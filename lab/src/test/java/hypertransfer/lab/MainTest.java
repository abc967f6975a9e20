package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.core.Diverged;
import hypertransfer.core.Mode;
import hypertransfer.core.Refusal;
import hypertransfer.engine.EngineException;
import hypertransfer.lab.terminal.Exit;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.file.AccessDeniedException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;

class MainTest {
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(String... args) {
        return Main.run(new PrintWriter(out), new PrintWriter(err), false, args);
    }

    /** A command that ends the way it is told to. */
    private int ending(boolean trace, Callable<Integer> end, String... args) {
        @Command(name = "end")
        final class End implements Callable<Integer> {
            @Option(names = "--mode", converter = Modes.class)
            Mode mode;

            @Override
            public Integer call() throws Exception {
                return end.call();
            }
        }
        var line = new CommandLine(new Main()).addSubcommand("end", new End());
        String[] all = new String[args.length + 1];
        all[0] = "end";
        System.arraycopy(args, 0, all, 1, args.length);
        return Main.execute(line, new PrintWriter(out), new PrintWriter(err), trace, all);
    }

    static final class Modes implements ITypeConverter<Mode> {
        @Override
        public Mode convert(String label) {
            return Mode.parse(label);
        }
    }

    private String error() {
        assertThat(err.toString()).startsWith("ht: ").endsWith(System.lineSeparator());
        assertThat(err.toString().lines()).as("one sentence").hasSize(1);
        return err.toString().strip();
    }

    @Test
    void helpListsTheCommandsAndExamples() {
        assertThat(run("--help")).isZero();
        assertThat(out.toString()).contains("Usage: ht", "doctor", "Examples:");
        assertThat(err.toString()).isEmpty();
    }

    @Test
    void versionNamesTheNumberAndTheCommit() {
        assertThat(run("--version")).isZero();
        assertThat(out.toString().strip())
                .matches("HyperTransfer \\d+\\.\\d+\\.\\d+\\S* \\(commit ([0-9a-f]{7,40}(-dirty)?|unknown)\\)");
    }

    @Test
    void withoutACommandThereIsHelp() {
        assertThat(run()).isZero();
        String alone = out.toString();
        assertThat(alone).contains("Usage: ht", "Examples:");
        out.getBuffer().setLength(0);
        assertThat(run("help")).isZero();
        assertThat(out.toString()).isEqualTo(alone);
        out.getBuffer().setLength(0);
        assertThat(run("help", "train")).isZero();
        assertThat(out.toString()).contains("Usage: ht train", "--resume").doesNotContain("Exit codes");
    }

    /** 'trian' meant 'invariance', 'plot' 'sample'. */
    @ParameterizedTest
    @CsvSource({
        "trian,train",
        "sampel,sample",
        "runz,runs",
        "conformence,conformance",
        "plot,",
        "clena,clean",
        "version,"
    })
    void aSuggestionIsNearOrThereIsNone(String typed, String meant) {
        assertThat(run(typed)).isEqualTo(2);
        assertThat(error())
                .startsWith("ht: unknown command '" + typed + "'"
                        + (meant == null ? "; run 'ht --help'" : ", did you mean '" + meant + "'?"));
    }

    /** A terminal of 80 columns shows every example on the line it was written on, so that it can be copied. */
    @Test
    void helpFitsEightyColumns() {
        List<CommandLine> all = new ArrayList<>(List.of(Main.commands()));
        for (int i = 0; i < all.size(); i++) {
            all.addAll(all.get(i).getSubcommands().values());
            CommandSpec spec = all.get(i).getCommandSpec();
            String help = all.get(i).getUsageMessage();
            assertThat(help.lines()).as(spec.qualifiedName()).allMatch(line -> line.length() <= 80);
            assertThat(help.lines().toList())
                    .as(spec.qualifiedName())
                    .containsAll(List.of(spec.usageMessage().footer()).stream()
                            .map(line -> line.replace("%%", "%").stripTrailing())
                            .toList());
        }
        assertThat(all).hasSizeGreaterThan(20);
    }

    /** By alphabet, bench and conformance came first. */
    @Test
    void helpListsEveryCommandInOneGroup() {
        assertThat(run("--help")).isZero();
        for (String command : Main.commands().getSubcommands().keySet()) {
            assertThat(out.toString().lines())
                    .filteredOn(line -> line.startsWith("  " + command + " "))
                    .as(command)
                    .hasSize(1);
        }
        assertThat(out.toString().lines().toList())
                .containsSubsequence("Start", "Train", "Look", "Answers without a run", "Verify", "Other")
                .anyMatch(line -> line.matches(" {2}demo {9}Trains Muon and MuonH .*"))
                .noneMatch(line -> line.contains("%n") || line.contains("\u001b"));
    }

    /** Whoever prints a list or a table prints it for programs too. These print none. */
    @Test
    void everyListIsThereForPrograms() {
        Set<String> without = Set.of(
                "completion",
                "data",
                "data tokenize",
                "export",
                "help",
                "import",
                "new",
                "report",
                "sample",
                "transfer",
                "watch");
        Map<String, CommandLine> all = new TreeMap<>(Main.commands().getSubcommands());
        all.get("data").getSubcommands().forEach((name, line) -> all.put("data " + name, line));
        all.forEach(
                (name, line) -> assertThat(line.getCommandSpec().optionsMap().containsKey("--json"))
                        .as(name)
                        .isEqualTo(!without.contains(name)));
    }

    @Test
    void helpOfACommandNamesWhatCanBeGiven() {
        assertThat(run("transfer", "--help")).isZero();
        assertThat(out.toString()).contains("base, hyperball,", "inverse-hypertransfer-plus", "decay-transfer");
        out.getBuffer().setLength(0);
        assertThat(run("reproduce", "--help")).isZero();
        assertThat(out.toString()).contains("gpt2-124m", "dense-500m", "  exp2-tenth  M2");
        out.getBuffer().setLength(0);
        assertThat(run("data", "--help")).isZero();
        assertThat(out.toString()).contains("ht data tokenize books/").doesNotContain("ht demo");
        out.getBuffer().setLength(0);
        assertThat(run("runs", "--help")).isZero();
        assertThat(out.toString()).contains("[DIR]");
    }

    @Test
    void unknownCommandSuggestsTheNearest() {
        assertThat(run("doctr")).isEqualTo(2);
        assertThat(error())
                .isEqualTo(
                        "ht: unknown command 'doctr', did you mean 'doctor'? run 'ht --help' for the commands and options");
    }

    @Test
    void unknownOptionSuggestsTheNearest() {
        assertThat(run("doctor", "--jsn")).isEqualTo(2);
        assertThat(error())
                .isEqualTo(
                        "ht: unknown option '--jsn', did you mean '--json'? run 'ht doctor --help' for the commands and options");
    }

    @Test
    void unexpectedArgument() {
        assertThat(run("doctor", "two words")).isEqualTo(2);
        assertThat(error()).contains("unexpected argument 'two words'");
    }

    @Test
    void anArgumentWithAnAtSignIsNotAFile() {
        assertThat(run("doctor", "@pom.xml")).isEqualTo(2);
        assertThat(error()).contains("unexpected argument '@pom.xml'");
    }

    @Test
    void aValueThatOurOwnTypesRefuse() {
        assertThat(ending(false, () -> 0, "--mode", "bse")).isEqualTo(2);
        assertThat(error()).startsWith("ht: unknown mode 'bse'; the modes are base,");
    }

    @Test
    void refusalsAreBadInput() {
        assertThat(ending(false, () -> {
                    throw new Refusal("decay is -1;\n it must be zero or more");
                }))
                .isEqualTo(2);
        assertThat(error()).isEqualTo("ht: decay is -1; it must be zero or more");
    }

    @Test
    void whatAnEngineCannotDoIsBadInput() {
        assertThat(ending(false, () -> {
                    throw new EngineException("no CUDA driver; install one");
                }))
                .isEqualTo(2);
        assertThat(error()).isEqualTo("ht: no CUDA driver; install one");
    }

    /** The table was squeezed into one line of 300 characters. */
    @Test
    void theTableOfMemoryKeepsItsLines() {
        String table = "memory\n  parameters  1.0 MiB\n  total       9.0 MiB\ndoes not fit into 2 MiB; lower the batch";
        assertThat(ending(false, () -> {
                    throw new EngineException(table);
                }))
                .isEqualTo(2);
        assertThat(err.toString().lines().toList())
                .isEqualTo(("ht: " + table).lines().toList());
    }

    @Test
    void everyKindOfFailureHasItsOwnCode() {
        assertThat(Exit.of(new Diverged(null, 3, "the loss is NaN"))).isEqualTo(3);
        assertThat(Exit.of(new OutOfMemoryError())).isEqualTo(4);
        assertThat(Exit.of(new UncheckedIOException(new IOException("No space left on device"))))
                .isEqualTo(4);
        assertThat(Exit.of(new UncheckedIOException(new AccessDeniedException("x"))))
                .isEqualTo(5);
        assertThat(Exit.of(new UncheckedIOException(new IOException("Input/output error"))))
                .isEqualTo(6);
    }

    @Test
    void interrupted() {
        assertThat(ending(false, () -> {
                    throw new InterruptedException();
                }))
                .isEqualTo(130);
        assertThat(error()).isEqualTo("ht: interrupted");
    }

    @Test
    void anythingElseIsABugOfOurs() {
        assertThat(ending(false, () -> {
                    throw new IllegalStateException("seven");
                }))
                .isEqualTo(70);
        assertThat(error()).contains("bug", "IllegalStateException: seven", "HT_TRACE=1");
    }

    @Test
    void errorsGetASentenceToo() {
        assertThat(ending(false, () -> {
                    throw new NoClassDefFoundError("Missing");
                }))
                .isEqualTo(70);
        assertThat(error()).contains("NoClassDefFoundError: Missing");
    }

    @Test
    void outOfMemorySaysHowToGetMore() {
        assertThat(ending(false, () -> {
                    throw new OutOfMemoryError("Java heap space");
                }))
                .isEqualTo(4);
        assertThat(error()).contains("Java heap space", "-Xmx");
    }

    @Test
    void theTraceIsPrintedOnRequest() {
        ending(true, () -> {
            throw new IllegalStateException("seven");
        });
        assertThat(err.toString()).contains("ht: ", "at hypertransfer.lab.MainTest");
    }

    @Test
    void aFailedCheckKeepsItsCode() {
        assertThat(ending(false, () -> Exit.CHECK_FAILED)).isEqualTo(1);
        assertThat(err.toString()).isEmpty();
    }
}
