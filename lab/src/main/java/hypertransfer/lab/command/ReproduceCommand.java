package hypertransfer.lab.command;

import hypertransfer.lab.experiment.Experiment;
import hypertransfer.lab.experiment.Plan;
import hypertransfer.lab.terminal.Exit;
import hypertransfer.lab.terminal.Interrupt;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code ht reproduce}: an experiment of the paper. */
@Command(
        name = "reproduce",
        description = "Repeats an experiment of the paper at a preset, and writes its figures as a report.",
        footer = {
            "",
            "Experiments:",
            "  exp1        M1, schedule to zero, both directions",
            "  exp2-zero   M2, the plus forms, schedule to zero",
            "  exp2-tenth  M2, the plus forms, schedule to a tenth",
            "  exp3        final-to-peak effective ratios, and MuonH at the matched one",
            "  adamw       AdamW and AdamH on M1",
            "  dense       500 million parameters",
            "  fair        two base optimizers at one effective schedule",
            "  decay       one curve at three weight decays",
            "  decoupled   the proxy norm on schedules of its own (beyond the paper)",
            "",
            "Examples:",
            "  ht reproduce exp1",
            "  ht reproduce exp3 --set steps=1000 --out out/longer",
            "  ht reproduce exp1 --seeds 3     is a difference more than noise?",
            "  ht reproduce exp1 --preset gpt2-124m --set data.train=shards --set data.validation=shards",
            "",
            "Interrupted, it goes on where it was."
        })
public final class ReproduceCommand implements Callable<Integer> {
    private static final int FIRST_SEED = 1234;

    @Spec
    private CommandSpec spec;

    @Parameters(paramLabel = "NAME", description = "The experiment; or a file like those in runs/.")
    private String name;

    @Option(names = "--preset", defaultValue = "demo", description = "The sizes (default: ${DEFAULT-VALUE}).")
    private String preset;

    @Option(names = "--set", paramLabel = "KEY=VALUE", description = "Overrides a key of all runs that follow none.")
    private List<String> settings = List.of();

    @Option(names = "--seeds", defaultValue = "1", description = "Repeat with this many seeds, from the first on.")
    private int seeds;

    @Option(names = "--out", paramLabel = "DIR", description = "Where the runs go (default: out/NAME-PRESET).")
    private Path out;

    @Override
    public Integer call() {
        PrintWriter print = spec.commandLine().getOut();
        String file = Path.of(name).getFileName().toString().replaceFirst("\\.ya?ml$", "");
        Path to = out == null ? Path.of("out", file + "-" + preset) : out;
        Experiment experiment = Experiment.read(name);
        List<Plan> plans = new ArrayList<>();
        for (int k = 0; k < Math.max(1, seeds); k++) {
            List<String> all = new ArrayList<>(settings);
            if (seeds > 1) {
                all.add("seed=" + (FIRST_SEED + k));
            }
            plans.add(
                    new Plan(experiment, preset, all, seeds > 1 ? to.resolve("seed-" + (FIRST_SEED + k)) : to, print));
        }
        try (Interrupt interrupt = new Interrupt()) {
            for (Plan plan : plans) {
                if (!plan.run(interrupt)) {
                    return Exit.INTERRUPTED;
                }
                plan.show();
            }
        }
        if (seeds > 1) {
            spread(experiment, plans, print);
        }
        return Exit.FINE;
    }

    /** Mean and standard deviation over the seeds, so that a difference is told from noise. */
    private static void spread(Experiment experiment, List<Plan> plans, PrintWriter print) {
        print.printf("%n%-32s %12s %12s   over %d seeds%n", "run", "validation", "deviation", plans.size());
        for (String run : experiment.runs().keySet()) {
            double[] losses =
                    plans.stream().mapToDouble(plan -> plan.validation(run)).toArray();
            double mean = Arrays.stream(losses).average().orElseThrow();
            double square =
                    Arrays.stream(losses).map(l -> (l - mean) * (l - mean)).sum() / (losses.length - 1);
            print.printf(Locale.ROOT, "%-32s %12.5f %12.5f%n", run, mean, Math.sqrt(square));
        }
        print.flush();
    }
}
