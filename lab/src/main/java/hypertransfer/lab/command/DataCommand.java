package hypertransfer.lab.command;

import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code ht data}: shards of tokens. */
@Command(
        name = "data",
        description = "Makes shards of tokens from text, and looks into them.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {TokenizeCommand.class, InspectCommand.class})
public final class DataCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        throw new ParameterException(spec.commandLine(), "no command given; it is tokenize or inspect");
    }
}
