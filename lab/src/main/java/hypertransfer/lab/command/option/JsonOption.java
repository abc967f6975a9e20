package hypertransfer.lab.command.option;

import java.io.PrintWriter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;

/** {@code --json}, for the commands that end with one line for programs. */
public final class JsonOption {
    @Option(names = "--json", description = "Print only the JSON line for programs.")
    public boolean only;

    /** Where a command that trains says what it does: standard error, where standard output belongs to a program. */
    public PrintWriter words(CommandSpec spec) {
        return only ? spec.commandLine().getErr() : spec.commandLine().getOut();
    }
}
