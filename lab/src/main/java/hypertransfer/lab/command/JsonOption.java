package hypertransfer.lab.command;

import picocli.CommandLine.Option;

/** {@code --json}, for the commands that end with one line for programs. */
final class JsonOption {
    @Option(names = "--json", description = "Print only the JSON line for programs.")
    boolean only;
}
