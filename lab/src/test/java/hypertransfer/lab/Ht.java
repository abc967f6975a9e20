package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The command line inside the test's own process. */
public final class Ht {
    /** A run of milliseconds. */
    static final List<String> TINY =
            set("engine=reference steps=3 model.layers=1 model.width=16 model.head=8 model.sequence=16 model.batch=2"
                    + " validation.batches=1");

    /** An experiment of a run and its transfer, of milliseconds. */
    static final String EXPERIMENT = """
            title: A small one
            settings: [engine=reference, model.layers=1, model.width=8, model.head=4, model.sequence=8, model.batch=1]
            runs:
              muon: {settings: [matrices.mode=base]}
              twin: {follows: muon, settings: [matrices.mode=hypertransfer]}
            presets:
              demo: {settings: [steps=3, validation.batches=1, matrices.rate=0.02]}
            """;

    /** A configuration of a run of milliseconds, {@code NAME.yaml}, with some more lines. */
    static Path tiny(Path directory, String name, String... lines) throws IOException {
        return Files.writeString(directory.resolve(name + ".yaml"), """
                engine: reference
                model: {layers: 1, width: 8, head: 4, sequence: 8, batch: 2}
                validation: {batches: 1}
                """ + String.join("\n", lines) + "\n");
    }

    /** As {@link Main#run}. */
    interface Runner {
        int run(PrintWriter out, PrintWriter err, boolean trace, String... args);
    }

    private final Runner runner;
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    public Ht() {
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

    /** Settings as options. */
    static List<String> set(String... settings) {
        return Stream.of(settings)
                .flatMap(some -> Stream.of(some.split(" ")))
                .flatMap(setting -> Stream.of("--set", setting))
                .toList();
    }

    /** Runs a command. Lists are laid out; a text that begins the line or an option is taken apart at its spaces. */
    public int run(Object... args) {
        out.getBuffer().setLength(0);
        err.getBuffer().setLength(0);
        String[] words = Arrays.stream(args)
                .flatMap(arg -> switch (arg) {
                    case List<?> list -> list.stream();
                    case String text when arg == args[0] || text.startsWith("--") -> Stream.of(text.split(" "));
                    default -> Stream.of(arg);
                })
                .map(Object::toString)
                .toArray(String[]::new);
        return runner.run(new PrintWriter(out), new PrintWriter(err), false, words);
    }

    /** Runs a command that must succeed, and returns what it printed. */
    public String fine(Object... args) {
        assertThat(run(args)).as(err::toString).isZero();
        return out();
    }

    /** The same with --json, and what its last line says to programs. */
    public JsonNode json(Object... args) {
        boolean asked = Arrays.stream(args).anyMatch(arg -> arg.toString().endsWith("--json"));
        Object[] all = Stream.concat(Arrays.stream(args), asked ? Stream.of() : Stream.of("--json"))
                .toArray();
        return JsonMapper.shared().readTree(fine(all).lines().toList().getLast());
    }

    /** Runs a command that must be refused as bad input, in one sentence, which is returned. */
    public String refused(Object... args) {
        assertThat(run(args)).as(() -> out() + err()).isEqualTo(2);
        assertThat(err()).startsWith("ht: ");
        assertThat(err().lines()).as("one sentence").hasSize(1);
        return err().strip();
    }
}
