package hypertransfer.lab.command;

import hypertransfer.core.Refusal;
import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.command.option.Labels;
import hypertransfer.lab.command.option.OutOption;
import hypertransfer.lab.command.option.SetOption;
import hypertransfer.lab.comparison.Spread;
import hypertransfer.lab.experiment.Experiment;
import hypertransfer.lab.experiment.Next;
import hypertransfer.lab.experiment.Plan;
import hypertransfer.lab.terminal.Exit;
import hypertransfer.lab.terminal.Interrupt;
import hypertransfer.train.network.Preset;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.IModelTransformer;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code ht reproduce}: an experiment of the paper. */
@Command(
        name = "reproduce",
        description = "Repeats an experiment of the paper at a preset, and writes its figures as a report.",
        modelTransformer = ReproduceCommand.ListsExperiments.class,
        footer = {
            "  ht reproduce exp1",
            "  ht reproduce exp3 --set steps=1000 --out out/longer",
            "  ht reproduce exp1 --seeds 3     is a difference more than noise?",
            "  ht reproduce exp1 --preset gpt2-124m --set data.train=shards \\",
            "      --set data.validation=shards",
            "",
            "--set applies to every run that does not follow another.",
            "Ctrl-C stops it safely; run the same command again to continue."
        })
public final class ReproduceCommand implements Callable<Integer> {
    private static final long FIRST_SEED = 1234;

    @Parameters(paramLabel = "NAME", description = "The experiment; or a file like those in runs/.")
    private String name;

    @Option(
            names = "--preset",
            defaultValue = "demo",
            converter = Labels.Presets.class,
            completionCandidates = Labels.Presets.class,
            description = "The sizes, one of ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}).")
    private Preset preset;

    @Mixin
    private SetOption set;

    @Option(
            names = "--seeds",
            paramLabel = "N",
            defaultValue = "1",
            description = "Number of seeds: 1234, 1235, ... (default: ${DEFAULT-VALUE}).")
    private int seeds;

    @Mixin
    private OutOption out;

    @Mixin
    private JsonOption json;

    /** One seed's part of the JSON line; of one seed only the runs are printed. */
    private record Answer(long seed, List<Plan.Row> runs) {}

    /** Adds the list of experiments to the help, so that there is only one such list. */
    static final class ListsExperiments implements IModelTransformer {
        @Override
        public CommandSpec transform(CommandSpec spec) {
            spec.usageMessage()
                    .footerHeading(Experiment.KNOWN.entrySet().stream()
                            .map(known -> "  %-11s %s".formatted(known.getKey(), known.getValue()))
                            .collect(Collectors.joining("%n", "%nExperiments:%n", "%n%nExamples:%n")));
            return spec;
        }
    }

    @Override
    public Integer call() {
        if (seeds < 1) {
            throw new Refusal("--seeds is " + seeds + "; it must be one or more");
        }
        PrintWriter print = json.words();
        List<Answer> answers = new ArrayList<>();
        Experiment experiment = Experiment.read(name);
        Path to = out.or(OutOption.named(Path.of(name), "-" + preset.label()));
        Spread spread = new Spread();
        try (Interrupt interrupt = new Interrupt()) {
            for (long seed = FIRST_SEED; seed < FIRST_SEED + seeds; seed++) {
                List<String> settings = new ArrayList<>(set.settings);
                if (seeds > 1) {
                    settings.add("seed=" + seed);
                }
                Path directory = seeds > 1 ? to.resolve("seed-" + seed) : to;
                Plan plan = new Plan(experiment, preset, settings, directory, print);
                if (!plan.run(interrupt)) {
                    print.print(Next.again(to));
                    return Exit.INTERRUPTED;
                }
                answers.add(new Answer(seed, plan.show()));
                spread.add(plan.validations());
            }
        }
        if (seeds > 1) {
            print.print(spread.table());
        }
        if (json.only) {
            json.line(seeds > 1 ? answers : answers.getFirst().runs());
        }
        return Exit.FINE;
    }
}
