package hypertransfer.lab;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
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
            "",
            "Examples:",
            "  ht reproduce exp1",
            "  ht reproduce exp3 --set steps=1000 --out out/longer",
            "  ht reproduce exp1 --preset gpt2-124m --set data.train=shards --set data.validation=shards",
            "",
            "Interrupted, it goes on where it was."
        })
final class Reproduce implements Callable<Integer> {
    @Spec
    private CommandSpec spec;

    @Parameters(paramLabel = "NAME", description = "The experiment; or a file like those in runs/.")
    private String name;

    @Option(names = "--preset", defaultValue = "demo", description = "The sizes (default: ${DEFAULT-VALUE}).")
    private String preset;

    @Option(names = "--set", paramLabel = "KEY=VALUE", description = "Overrides a key of all runs that follow none.")
    private List<String> settings = List.of();

    @Option(names = "--out", paramLabel = "DIR", description = "Where the runs go (default: out/NAME-PRESET).")
    private Path out;

    @Override
    public Integer call() {
        PrintWriter print = spec.commandLine().getOut();
        String file = Path.of(name).getFileName().toString().replaceFirst("\\.ya?ml$", "");
        Path to = out == null ? Path.of("out", file + "-" + preset) : out;
        Plan plan = new Plan(Experiment.read(name), preset, settings, to, print);
        try (Interrupt interrupt = new Interrupt()) {
            if (!plan.run(interrupt)) {
                return Exit.INTERRUPTED;
            }
        }
        plan.show();
        return Exit.FINE;
    }
}
