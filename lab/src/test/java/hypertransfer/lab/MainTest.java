package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.core.Mode;
import hypertransfer.core.Refusal;
import hypertransfer.engine.EngineException;
import hypertransfer.lab.terminal.Exit;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
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
    void noCommand() {
        assertThat(run()).isEqualTo(2);
        assertThat(error()).isEqualTo("ht: no command given; 'ht --help' lists what there is");
    }

    @Test
    void unknownCommandSuggestsTheNearest() {
        assertThat(run("doctr")).isEqualTo(2);
        assertThat(error())
                .isEqualTo("ht: unknown command 'doctr', did you mean 'doctor'? 'ht --help' lists what there is");
    }

    @Test
    void unknownOptionSuggestsTheNearest() {
        assertThat(run("doctor", "--jsn")).isEqualTo(2);
        assertThat(error())
                .isEqualTo("ht: unknown option '--jsn', did you mean '--json'? 'ht doctor --help' lists what there is");
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
                .isEqualTo(2);
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
