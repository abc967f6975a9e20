package hypertransfer.lab.command.data;

import hypertransfer.core.Refusal;
import picocli.CommandLine.Command;

@Command(
        name = "data",
        description = "Makes shards of tokens from text, and inspects them.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {TokenizeCommand.class, InspectCommand.class},
        footer = {
            "  ht data tokenize books/ --out data/books",
            "  ht data inspect data/books/books_train_000001.bin",
            "  ht train runs/muon.yaml --set preset=mid --set data.train=data/books \\",
            "      --set data.validation=data/books"
        })
public final class DataCommand implements Runnable {
    @Override
    public void run() {
        throw new Refusal("no command given; give tokenize or inspect, see 'ht data --help'");
    }
}
