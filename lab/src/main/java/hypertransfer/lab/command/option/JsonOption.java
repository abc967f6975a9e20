package hypertransfer.lab.command.option;

import picocli.CommandLine.Option;

/** {@code --json}, for the commands that end with one line for programs. */
public final class JsonOption {
    @Option(names = "--json", description = "Print only the JSON line for programs.")
    public boolean only;
}
