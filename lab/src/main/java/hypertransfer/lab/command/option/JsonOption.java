package hypertransfer.lab.command.option;

import hypertransfer.lab.terminal.JsonLine;
import hypertransfer.lab.terminal.Width;
import java.io.PrintWriter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;

/** {@code --json}, for the commands that end with one line for programs. */
public final class JsonOption {
    @Option(names = "--json", description = "Print only the JSON line for programs.")
    public boolean only;

    /** The line for programs; a person at a terminal does not want it behind the table, unless it was asked for. */
    public void line(PrintWriter out, Object value) {
        if (only || !Width.terminal()) {
            out.println(JsonLine.of(value));
        }
        out.flush();
    }

    /** Where a command that trains says what it does: standard error, where standard output belongs to a program. */
    public PrintWriter words(CommandSpec spec) {
        return only ? spec.commandLine().getErr() : spec.commandLine().getOut();
    }
}
