package hypertransfer.lab.command.option;

import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import picocli.CommandLine.Option;

/** {@code --set}, for every command that reads a configuration. */
public final class SetOption {
    @Option(
            names = "--set",
            paramLabel = "KEY=VALUE",
            description = "Overrides a key of the configuration; may be repeated.")
    public List<String> settings = List.of();

    /** The keys that it names. */
    public Set<String> keys() {
        return settings.stream()
                .map(setting -> setting.replaceFirst("=.*", "").strip())
                .collect(Collectors.toSet());
    }
}
