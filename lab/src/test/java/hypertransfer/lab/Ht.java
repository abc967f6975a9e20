package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Arrays;
import java.util.List;

/** The command line inside the test's own process. */
final class Ht {
    /** A run of milliseconds. */
    static final List<String> TINY = List.of(
            "--set", "engine=reference",
            "--set", "steps=3",
            "--set", "model.layers=1",
            "--set", "model.width=16",
            "--set", "model.head=8",
            "--set", "model.sequence=16",
            "--set", "model.batch=2",
            "--set", "validation.batches=1");

    /** As {@link Main#run}. */
    interface Runner {
        int run(PrintWriter out, PrintWriter err, boolean trace, String... args);
    }

    private final Runner runner;
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    Ht() {
        this(Main::run);
    }

    Ht(Runner runner) {
        this.runner = runner;
    }

    /** What the last command printed. */
    String out() {
        return out.toString();
    }

    /** What the last command printed on the error stream. */
    String err() {
        return err.toString();
    }

    /** Runs a command; lists among the arguments are laid out. */
    int run(Object... args) {
        out.getBuffer().setLength(0);
        err.getBuffer().setLength(0);
        String[] texts = Arrays.stream(args)
                .flatMap(arg -> arg instanceof List<?> list ? list.stream() : List.of(arg).stream())
                .map(Object::toString)
                .toArray(String[]::new);
        return runner.run(new PrintWriter(out), new PrintWriter(err), false, texts);
    }

    /** Runs a command that must succeed, and returns what it printed. */
    String fine(Object... args) {
        assertThat(run(args)).as(err::toString).isZero();
        return out();
    }

    /** Runs a command that must be refused as bad input, in one sentence, which is returned. */
    String refused(Object... args) {
        assertThat(run(args)).as(() -> out() + err()).isEqualTo(2);
        assertThat(err().lines()).as("one sentence").hasSize(1);
        return err().strip();
    }
}
