package hypertransfer.lab.command;

import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.command.option.Options;
import hypertransfer.lab.compare.Standings;
import hypertransfer.lab.experiment.Experiment;
import hypertransfer.lab.experiment.Next;
import hypertransfer.lab.terminal.Exit;
import hypertransfer.lab.terminal.Width;
import hypertransfer.train.network.Preset;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
        name = "demo",
        description =
                "Trains Muon and MuonH on a bundled text, and each again in the other's space; shows that the curves coincide.",
        footer = {
            "  ht demo            about three minutes on two cores",
            "  ht demo --quick    a smaller network, less than half a minute",
            "",
            "Ctrl-C stops it safely; run the same command again to continue."
        })
public final class DemoCommand implements Callable<Integer> {
    @Option(names = "--quick", description = "A smaller network and fewer steps.")
    private boolean quick;

    @Mixin
    private Options.Out out;

    @Mixin
    private JsonOption json;

    @Override
    public Integer call() {
        String name = quick ? "demo-quick" : "demo";
        Path to = out.or(Path.of("out", name));
        int exit = Standings.train(
                name, Experiment.read(name), Preset.DEMO, List.of(), ReproduceCommand.FIRST_SEED, 1, false, to, json);
        if (exit == Exit.FINE && !json.only) {
            Width.folded(json.out()).print(Next.shown());
        }
        return exit;
    }
}
