package hypertransfer.lab.command;

import java.util.List;
import picocli.CommandLine.Option;

/** {@code --set}, for every command that reads a configuration. */
final class SetOption {
    @Option(
            names = "--set",
            paramLabel = "KEY=VALUE",
            description = "Overrides a key of the configuration; may be repeated.")
    List<String> settings = List.of();
}
