package hypertransfer.lab.command.option;

import hypertransfer.train.network.Dialect;
import picocli.CommandLine.Option;

/** {@code --format}, for files of weights that other programs write or read. */
public final class FormatOption {
    @Option(
            names = "--format",
            defaultValue = "own",
            paramLabel = "FORMAT",
            completionCandidates = Labels.Dialects.class,
            description =
                    "Whose names and forms the tensors have, one of ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}).")
    public Dialect dialect;
}
