package hypertransfer.lab.command;

import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.command.option.Options;
import hypertransfer.lab.experiment.Next;
import hypertransfer.lab.experiment.Sweep;
import hypertransfer.lab.terminal.Exit;
import hypertransfer.lab.terminal.Interrupt;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
        name = "sweep",
        description = "Trains a configuration at every point of a grid and chooses the best by validation loss.",
        footer = {
            "  ht sweep runs/muon.yaml --grid rate=0.01,0.02 --grid adam_rate=0.005,0.01",
            "  ht sweep runs/muon.yaml --grid direction=muon,adam,lion",
            "",
            "Keys of matrices need no prefix; adam_rate is short for adamw.rate. A point that",
            "diverges counts as infinitely bad. A point whose values do not go together is",
            "named and left out; after any other failure run the command again. To extend the",
            "grid of an earlier sweep, give other values and the same --out.",
            "Ctrl-C stops it safely; run the same command again to continue."
        })
public final class SweepCommand implements Callable<Integer> {
    @Parameters(paramLabel = "FILE", description = "A configuration.")
    private Path file;

    @Option(
            names = "--grid",
            required = true,
            paramLabel = "KEY=VALUES",
            description = "The values of a key, separated by commas; may be repeated.")
    private List<String> grid;

    @Mixin
    private Options.Settings set;

    @Mixin
    private Options.Out out;

    @Mixin
    private JsonOption json;

    @Override
    public Integer call() {
        Path to = out.or(Options.Out.named(file, "-sweep"));
        PrintWriter words = json.words();
        Sweep sweep = new Sweep(file, set.settings, grid, to, words);
        try (Interrupt interrupt = new Interrupt()) {
            if (!sweep.run(interrupt)) {
                words.print(Next.again(to));
                return Exit.INTERRUPTED;
            }
        }
        boolean best = sweep.show();
        if (json.only) {
            json.out().println(sweep.json());
        }
        return best ? Exit.FINE : Exit.CHECK_FAILED;
    }
}
