package hypertransfer.lab.command;

import hypertransfer.lab.experiment.Experiment;
import hypertransfer.lab.experiment.Plan;
import hypertransfer.lab.terminal.Exit;
import hypertransfer.lab.terminal.Interrupt;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code ht demo}: the paper's first experiment in a few minutes. */
@Command(
        name = "demo",
        description =
                "Trains Muon and MuonH on a bundled text, each also as the other, and shows that the curves coincide.",
        footer = {
            "",
            "Examples:",
            "  ht demo            some minutes on two cores",
            "  ht demo --quick    a smaller network, under half a minute",
            "",
            "Interrupted, it goes on where it was."
        })
public final class DemoCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec;

    @Option(names = "--quick", description = "A smaller network and fewer steps.")
    private boolean quick;

    @Option(names = "--out", paramLabel = "DIR", description = "Where the runs go (default: out/demo).")
    private Path out;

    @Override
    public Integer call() {
        String name = quick ? "demo-quick" : "demo";
        Path to = out == null ? Path.of("out", name) : out;
        Plan plan = new Plan(
                Experiment.read(name), "demo", List.of(), to, spec.commandLine().getOut());
        try (Interrupt interrupt = new Interrupt()) {
            if (!plan.run(interrupt)) {
                return Exit.INTERRUPTED;
            }
        }
        plan.show();
        return Exit.FINE;
    }
}
