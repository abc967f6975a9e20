package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import hypertransfer.core.Diverged;
import hypertransfer.core.Refusal;
import hypertransfer.engine.EngineException;
import hypertransfer.lab.terminal.Exit;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.AccessDeniedException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;

class MainTest {
    private final Ht ht = new Ht();

    /** A command that ends the way it is told to. */
    @Command(name = "end")
    private record End(Callable<Integer> end) implements Callable<Integer> {
        @Override
        public Integer call() throws Exception {
            return end.call();
        }
    }

    private static Ht ending(boolean trace, Callable<Integer> end) {
        return new Ht((out, err, quiet, args) -> {
            var line = new CommandLine(new Main()).addSubcommand("end", new End(end));
            return Main.execute(line, out, err, trace, args);
        });
    }

    @Test
    void versionNamesTheNumberAndTheCommit() {
        assertThat(ht.fine("--version").strip())
                .matches("HyperTransfer \\d+\\.\\d+\\.\\d+\\S* \\(commit ([0-9a-f]{7,40}(-dirty)?|unknown)\\)");
    }

    @Test
    void withoutACommandThereIsHelp() {
        String alone = ht.fine();
        assertThat(alone).contains("Usage: ht", "doctor", "Examples:");
        assertThat(ht.err()).isEmpty();
        assertThat(ht.fine("help")).isEqualTo(alone);
        assertThat(ht.fine("--help")).isEqualTo(alone);
        assertThat(ht.fine("help train"))
                .contains("Usage: ht train", "--dry-run")
                .doesNotContain("Exit codes");
    }

    /** 'trian' meant 'invariance', 'plot' 'sample'. */
    @ParameterizedTest
    @CsvSource({
        "trian,train",
        "sampel,sample",
        "runz,runs",
        "conformence,conformance",
        "plot,",
        "docter,doctor",
        "version,"
    })
    void aSuggestionIsNearOrThereIsNone(String typed, String meant) {
        assertThat(ht.refused(typed))
                .startsWith("ht: unknown command '" + typed + "'"
                        + (meant == null
                                ? "; run 'ht --help'"
                                : ", did you mean '" + meant + "'? run 'ht --help' for the commands and options"));
    }

    /** It was "unknown subcommand 'nosuch'.;". */
    @Test
    void helpForAnUnknownCommand() {
        assertThat(ht.refused("help nosuch")).startsWith("ht: unknown command 'nosuch'; run 'ht --help'");
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
            assertThat(help).as("the name of a field of the code").doesNotContain("=<");
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
        ht.fine("--help");
        for (String command : Main.commands().getSubcommands().keySet()) {
            assertThat(ht.out().lines())
                    .filteredOn(line -> line.startsWith("  " + command + " "))
                    .as(command)
                    .hasSize(1);
        }
        assertThat(ht.out().lines().toList())
                .containsSubsequence("Start", "Train", "Look", "Answers without a run", "Verify", "Other")
                .anyMatch(line -> line.matches(" {2}demo {9}Trains Muon and MuonH .*"))
                .noneMatch(line -> line.contains("%n") || line.contains("\u001b"));
    }

    /** A single percent sign made picocli warn in the help of ht rates. */
    @Test
    void helpIsFormatted() {
        Main.commands().getSubcommands().values().forEach(line -> {
            var usage = line.getCommandSpec().usageMessage();
            Stream.of(usage.header(), usage.description(), usage.footer())
                    .flatMap(Stream::of)
                    .forEach(text -> assertThat(text.formatted()).isNotNull());
        });
    }

    /** Whoever prints a list or a table prints it for programs too. These print none. */
    @Test
    void everyListIsThereForPrograms() {
        Set<String> without = Set.of(
                "completion, data, data tokenize, export, help, import, new, page, report, sample, transfer, watch"
                        .split(", "));
        Map<String, CommandLine> all = new TreeMap<>(Main.commands().getSubcommands());
        all.get("data").getSubcommands().forEach((name, line) -> all.put("data " + name, line));
        all.forEach(
                (name, line) -> assertThat(line.getCommandSpec().optionsMap().containsKey("--json"))
                        .as(name)
                        .isEqualTo(!without.contains(name)));
    }

    @Test
    void helpOfACommandNamesWhatCanBeGiven() {
        assertThat(ht.fine("transfer --help"))
                .contains("base, hyperball,", "inverse-hypertransfer-plus", "decay-transfer");
        assertThat(ht.fine("reproduce --help")).contains("paper-50m", "gpt2-124m", "dense-500m", "  exp2-tenth  M2");
        assertThat(ht.fine("data --help")).contains("ht data tokenize books/").doesNotContain("ht demo");
        assertThat(ht.fine("runs --help")).contains("[DIR]");
    }

    @Test
    void whatIsUnknownOrUnexpected() {
        assertThat(ht.refused("doctor", "--jsn"))
                .isEqualTo(
                        "ht: unknown option '--jsn', did you mean '--json'? run 'ht doctor --help' for the commands and options");
        assertThat(ht.refused("doctor", "two words")).contains("unexpected argument 'two words'");
        assertThat(ht.refused("doctor", "@pom.xml"))
                .as("an argument, not a file of arguments")
                .contains("unexpected argument '@pom.xml'");
        assertThat(ht.refused("sample out --tokens 1e3"))
                .startsWith("ht: invalid value for option '--tokens': '1e3' is not a whole number, or too large; run");
        assertThat(ht.refused("fair a.yaml --out b"))
                .isEqualTo("ht: there is only one side, a.yaml; give two or more runs or configurations");
        assertThat(ht.refused("transfer out --mode bse"))
                .as("of our own types")
                .startsWith("ht: unknown mode 'bse'; the modes are base,");
    }

    /** "cannot write : Is a directory", " is already there"; certify wrote .json and .txt. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "predict runs/muon.yaml --csv",
                "schedule out/muon --csv",
                "schedule out/muon --out",
                "certify a b --out",
                "export out/muon --out",
                "report out --pdf",
                "train runs/muon.yaml --out"
            })
    void anEmptyPathIsRefusedByName(String command) {
        String option = command.substring(command.indexOf("--"));
        assertThat(ht.refused(command, ""))
                .startsWith("ht: invalid value for option '" + option
                        + "': '' names no file or directory; give one, such as out/mine;");
    }

    /** The table of memory was squeezed into one line of 300 characters. */
    static Stream<Arguments> failures() {
        String table = "memory\n  parameters  1.0 MiB\n  total       9.0 MiB\ndoes not fit into 2 MiB; lower the batch";
        return Stream.of(
                arguments(
                        new Refusal("decay is -1;\n it must be zero or more"),
                        2,
                        "decay is -1; it must be zero or more$"),
                arguments(new EngineException("no CUDA driver; install one"), 2, "no CUDA driver; install one$"),
                arguments(new EngineException(table), 2, table + "$"),
                arguments(new InterruptedException(), 130, "interrupted$"),
                arguments(new IllegalStateException("seven"), 70, ".*bug.*IllegalStateException: seven.*HT_TRACE=1"),
                arguments(new NoClassDefFoundError("Missing"), 70, ".*NoClassDefFoundError: Missing"),
                arguments(new OutOfMemoryError("Java heap space"), 4, ".*Java heap space.*-Xmx"));
    }

    @ParameterizedTest
    @MethodSource("failures")
    void everyFailureHasASentenceAndACode(Throwable failure, int code, String sentence) {
        Ht ending = ending(false, () -> {
            if (failure instanceof Error error) {
                throw error;
            }
            throw (Exception) failure;
        });
        assertThat(ending.run("end")).isEqualTo(code);
        assertThat(ending.err()).endsWith(System.lineSeparator());
        assertThat(ending.err().lines()).hasSameSizeAs(sentence.lines().toList());
        assertThat(ending.err().strip()).containsPattern("^ht: " + sentence);
    }

    @Test
    void everyKindOfFailureHasItsOwnCode() {
        assertThat(Exit.of(new Diverged(null, 3, "the loss is NaN"))).isEqualTo(3);
        Stream<IOException> failures = Stream.of(
                new IOException("No space left on device"),
                new AccessDeniedException("x"),
                new IOException("Input/output error"));
        assertThat(failures.map(UncheckedIOException::new).map(Exit::of)).containsExactly(4, 5, 6);
    }

    @Test
    void theTraceIsPrintedOnRequest() {
        Ht ending = ending(true, () -> {
            throw new IllegalStateException("seven");
        });
        ending.run("end");
        assertThat(ending.err()).contains("ht: ", "at hypertransfer.lab.MainTest");
    }

    @Test
    void aFailedCheckKeepsItsCode() {
        Ht ending = ending(false, () -> Exit.CHECK_FAILED);
        assertThat(ending.run("end")).isEqualTo(1);
        assertThat(ending.err()).isEmpty();
    }
}
