package hypertransfer.lab.command.option;

import hypertransfer.lab.terminal.Width;
import java.io.PrintWriter;
import java.io.Writer;
import java.util.function.Consumer;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tools.jackson.core.JsonGenerator;
import tools.jackson.databind.PropertyNamingStrategies;
import tools.jackson.databind.SerializationContext;
import tools.jackson.databind.ValueSerializer;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.module.SimpleModule;

/** {@code --json}, for the commands that end with one line for programs, and where these print. */
public final class JsonOption {
    @Spec(Spec.Target.MIXEE)
    private CommandSpec command;

    @Option(names = "--json", description = "Print only the JSON line for programs.")
    public boolean only;

    public PrintWriter out() {
        return command.commandLine().getOut();
    }

    public PrintWriter err() {
        return command.commandLine().getErr();
    }

    /** Says what could not be read, or is not what it seems. */
    public void warn(String what) {
        err().println("warning: " + what);
    }

    /** Where a command that trains says what it does: standard error, where standard output belongs to a program. */
    public PrintWriter words() {
        return only ? err() : out();
    }

    /** Where a command prints for people as it proceeds: nowhere, where only the line was asked for. */
    public PrintWriter people() {
        return only ? new PrintWriter(Writer.nullWriter()) : out();
    }

    /** JSON has no number that is not finite. */
    private static final class Finite extends ValueSerializer<Double> {
        @Override
        public void serialize(Double value, JsonGenerator to, SerializationContext context) {
            if (Double.isFinite(value)) {
                to.writeNumber(value);
            } else {
                to.writeNull();
            }
        }
    }

    /**
     * Names as in {@code max_loss_error}; what is not finite is null. Made where it is needed: most commands that could
     * print JSON start without it.
     */
    public static JsonMapper mapper() {
        return JsonMapper.builder()
                .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
                .addModule(new SimpleModule()
                        .addSerializer(double.class, new Finite())
                        .addSerializer(Double.class, new Finite()))
                .build();
    }

    public void line(Object value) {
        out().println(mapper().writeValueAsString(value));
    }

    /** Either the line for programs, or what people read. */
    public void either(Object value, Consumer<PrintWriter> words) {
        if (only) {
            line(value);
        } else {
            words.accept(Width.folded(out()));
        }
    }
}
