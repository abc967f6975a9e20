package hypertransfer.lab.command;

import hypertransfer.core.Mode;
import hypertransfer.core.Refusal;
import hypertransfer.core.Space;
import hypertransfer.core.Transfer;
import hypertransfer.train.log.Curves;
import hypertransfer.train.log.Gap;
import hypertransfer.lab.experiment.Launch;
import hypertransfer.lab.terminal.Exit;
import hypertransfer.lab.terminal.Interrupt;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.log.Run;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code ht transfer}: the same dynamics in another space. */
@Command(
        name = "transfer",
        description = "Trains the transferred twin of a run: same start, same data, another space.",
        footer = {
            "",
            "Examples:",
            "  ht transfer out/muon --mode hypertransfer            a Hyperball follows Muon",
            "  ht transfer out/muonh --mode inverse-hypertransfer   Muon follows MuonH",
            "  ht transfer out/muon --mode decay-transfer --decay 0 the same curve without weight decay",
            "  ht transfer out/muon --mode hypertransfer --at 200   changes the space at a checkpoint",
            "",
            "On networks that are not scale-invariant use the plus forms; 'ht invariance' says which are."
        })
public final class TransferCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec;

    @Parameters(paramLabel = "RUN", description = "The run to follow, finished or still running.")
    private Path run;

    @Option(names = "--mode", required = true, paramLabel = "MODE", description = "The transfer; see the examples.")
    private String mode;

    @Option(names = "--decay", paramLabel = "LAMBDA", description = "The carrier's weight decay (default: the run's).")
    private Double decay;

    @Option(names = "--at", paramLabel = "STEP", description = "Change the space at this checkpoint of the run.")
    private Integer at;

    @Option(names = "--out", paramLabel = "DIR", description = "The run's directory (default: RUN-MODE).")
    private Path out;

    @Option(names = "--set", paramLabel = "KEY=VALUE", description = "Overrides a key of the configuration.")
    private List<String> settings = List.of();

    @Option(names = "--resume", description = "Go on from the newest checkpoint, if there is one.")
    private boolean resume;

    @Override
    public Integer call() {
        Path to = out != null ? out : Path.of(run + "-" + mode + (at == null ? "" : "-at-" + at));
        PrintWriter print = spec.commandLine().getOut();
        try (Interrupt interrupt = new Interrupt()) {
            boolean finished = new Launch(to, configuration(), resume, false, print).run(interrupt);
            print.print(Gap.of(to, run).table(Curves.read(to).losses().size()));
            print.flush();
            return finished ? Exit.FINE : Exit.INTERRUPTED;
        }
    }

    private Configuration configuration() {
        Configuration target = new Run(run).configuration();
        Transfer followed = target.transfer();
        Mode chosen = Mode.parse(mode);
        double followedDecay = followed.target() instanceof Space.Base base
                ? base.decay()
                : target.matrices().decay();
        double carrier = decay == null ? followedDecay : decay;
        Transfer transfer = chosen.transfer(carrier, followedDecay);
        if (decay != null && !(transfer.carrier() instanceof Space.Base)) {
            throw new Refusal("--decay is the carrier's weight decay, and the carrier of mode " + chosen.label()
                    + " is a Hyperball, which has none; leave it out");
        }
        if (!transfer.target().equals(followed.target()) || transfer.isPlain() && at == null) {
            String fitting = Arrays.stream(Mode.values())
                    .filter(m -> !m.transfer(0, 0).isPlain())
                    .filter(m -> m.transfer(0, 0)
                            .target()
                            .getClass()
                            .equals(followed.target().getClass()))
                    .map(Mode::label)
                    .collect(Collectors.joining(", "));
            throw new Refusal(run + " has the dynamics of " + followed.target() + ", which mode " + chosen.label()
                    + " does not follow; those that do are " + fitting);
        }
        List<String> all = new ArrayList<>(List.of(
                "matrices.mode=" + chosen.label(),
                "matrices.decay=" + carrier,
                "matrices.target_decay=" + followedDecay,
                "target=" + run));
        if (at != null) {
            all.addAll(List.of("from.run=" + run, "from.step=" + at));
        }
        all.addAll(settings);
        return ConfigurationFile.with(target, all.toArray(String[]::new));
    }
}
