package hypertransfer.lab.command;

import hypertransfer.core.Mode;
import hypertransfer.core.Refusal;
import hypertransfer.core.Space;
import hypertransfer.core.Transfer;
import hypertransfer.engine.ranks.Ranks;
import hypertransfer.engine.ranks.library.Transports;
import hypertransfer.lab.command.option.Options;
import hypertransfer.lab.compare.Angles;
import hypertransfer.lab.experiment.Launch;
import hypertransfer.lab.experiment.Next;
import hypertransfer.lab.terminal.Exit;
import hypertransfer.lab.terminal.Ink;
import hypertransfer.lab.terminal.Interrupt;
import hypertransfer.lab.terminal.Width;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.log.Gap;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.Run.Curves;
import hypertransfer.train.log.RunStatus;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(
        name = "transfer",
        description = "Trains the transfer of a run: the same start and the same data in another space.",
        footer = {
            "  ht transfer out/muon --mode hypertransfer            Hyperball follows Muon",
            "  ht transfer out/muonh --mode inverse-hypertransfer   Muon follows MuonH",
            "  ht transfer out/muon --mode decay-transfer --decay 0 without weight decay",
            "  ht transfer out/muon --mode hypertransfer --at 200   from a checkpoint on",
            "",
            "The new run is RUN-MODE/; run the same command again to continue it. Use the",
            "plus forms if a network is not scale-invariant ('ht invariance' says which)."
        })
public final class TransferCommand implements Callable<Integer> {
    /** Keys that do not change what a run computes, or that are another way to carry the same dynamics. */
    private static final Pattern FREE =
            Pattern.compile("(checkpoint|log|validation|ranks|from)\\.|engine|stop_above|target"
                    + "|matrices\\.(mode|decay|gradient|master|grid|placebo)");

    @Spec
    private CommandSpec spec;

    @Parameters(paramLabel = "RUN", description = "The run to follow, finished or still running.")
    private Path run;

    @Option(
            names = "--mode",
            required = true,
            paramLabel = "MODE",
            completionCandidates = Options.Modes.class,
            description = "One of ${COMPLETION-CANDIDATES}.")
    private Mode mode;

    @Option(names = "--decay", paramLabel = "LAMBDA", description = "The carrier's weight decay (default: the run's).")
    private Double decay;

    @Option(names = "--at", paramLabel = "STEP", description = "Change the space at this checkpoint of the run.")
    private Integer at;

    @Mixin
    private Options.Out out;

    @Mixin
    private Options.Settings set;

    @Override
    public Integer call() {
        return TrainCommand.together(Transports.open(), this::transfer);
    }

    private int transfer(Ranks ranks) {
        Path to = out.or(Path.of(run + "-" + mode.label() + (at == null ? "" : "-at-" + at)));
        PrintWriter print = TrainCommand.voice(ranks, spec.commandLine().getOut());
        Configuration c = configuration(to);
        ranks.limit(Duration.ofSeconds(c.ranks().limit()));
        warn(print);
        try (Interrupt interrupt = new Interrupt(ranks.rank() == 0)) {
            boolean finished = new Launch(to, c, false, print, ranks).run(interrupt, Set.of());
            if (ranks.rank() == 0) {
                PrintWriter words = Width.folded(print);
                Curves own = Curves.read(to, damage -> words.println("warning: " + damage));
                words.print(Gap.of(to, run).table(own.losses().size()));
                List<Angles> angles = Angles.of(new Run(to), new Run(run), words);
                words.print(Angles.table(angles));
                Angles.write(angles, to);
                words.print(finished ? Next.transferred(run, to) : Next.stopped(to));
            }
            return finished ? Exit.FINE : Exit.INTERRUPTED;
        }
    }

    /** What makes an exact gap impossible is said before hours are spent on it. */
    private void warn(PrintWriter print) {
        List<String> other = set.keys().stream()
                .filter(key -> !FREE.matcher(key).lookingAt())
                .sorted()
                .toList();
        if (!other.isEmpty()) {
            print.println(Ink.YELLOW.on("warning:") + " --set " + String.join(", ", other)
                    + " makes this another run than its target: the gap will not be zero");
        }
        for (Run.Change change : new Run(run).changes()) {
            print.println(Ink.YELLOW.on("warning:") + " the target was changed at " + change
                    + ". A transfer has the last values from its first step on: the gap will not be zero");
        }
        RunStatus target = new Run(run).status();
        if (target.state() != RunStatus.State.FINISHED && target.state() != RunStatus.State.RUNNING) {
            print.println(Ink.YELLOW.on("warning:") + " the target is "
                    + target.state().label() + " at step "
                    + target.step() + " of " + target.steps()
                    + ": later steps have nothing to compare with; continue it with: ht train " + Next.word(run));
        }
    }

    /** A path as seen from a directory, so that both can be moved together. */
    private static String from(Path directory, Path path) {
        Path here = directory.toAbsolutePath().normalize();
        return here.relativize(path.toAbsolutePath().normalize()).toString();
    }

    private Configuration configuration(Path to) {
        Configuration target = new Run(run).configuration();
        if (from(to, run).isEmpty()) {
            throw new Refusal("--out is " + to + ", the directory of the run to follow; choose another, or omit --out");
        }
        if (set.keys().contains("steps")) {
            throw new Refusal("--set steps is not possible here: a run has the steps of its target, and " + run
                    + " has " + target.steps() + "; train the target with the steps you want, then transfer that run");
        }
        if (mode == Mode.DECAY_TRANSFER && decay == null && !set.keys().contains("matrices.decay")) {
            throw new Refusal("mode decay-transfer trains with another weight decay than that of " + run + "; name it,"
                    + " such as --decay 0.3");
        }
        Transfer followed = target.matrices().transfer();
        boolean ball = followed.target() instanceof Space.Hyperball;
        double followedDecay =
                ball ? target.matrices().decay() : followed.target().decay();
        double carrier = decay == null ? followedDecay : decay;
        Transfer named = mode.transfer(carrier);
        Transfer transfer = target.matrices()
                .policy()
                .in(mode == Mode.DECAY_TRANSFER ? named.following(new Space.Base(followedDecay)) : named);
        if (decay != null && transfer.carrier() instanceof Space.Hyperball) {
            throw new Refusal("--decay is the carrier's weight decay, and the carrier of mode " + mode.label()
                    + " is a Hyperball, which has none; leave it out");
        }
        if (!transfer.target().equals(followed.target()) || transfer.isPlain() && at == null) {
            String fitting = Arrays.stream(Mode.values())
                    .filter(m -> !m.transfer(0).isPlain() && m.transfer(0).target() instanceof Space.Hyperball == ball)
                    .map(Mode::label)
                    .collect(Collectors.joining(", "));
            throw new Refusal(run + " has the dynamics of " + followed.target() + ", which mode " + mode.label()
                    + " does not follow; use one of " + fitting);
        }
        if (mode == Mode.DECAY_TRANSFER
                && target.matrices().groups().values().stream().anyMatch(group -> group.containsKey("decay"))) {
            throw new Refusal(run + " has groups with a weight decay of their own (matrices.groups), but mode"
                    + " decay-transfer has one for all matrices; use mode hypertransfer");
        }
        List<String> all = new ArrayList<>(List.of(
                "matrices.mode=" + mode.label(),
                "matrices.decay=" + carrier,
                "matrices.target_decay=" + followedDecay,
                ConfigurationFile.text("target", from(to, run))));
        if (at != null) {
            all.addAll(List.of(ConfigurationFile.text("from.run", from(to, run)), "from.step=" + at));
        }
        all.addAll(set.settings);
        return ConfigurationFile.with(target, all.toArray(String[]::new));
    }
}
