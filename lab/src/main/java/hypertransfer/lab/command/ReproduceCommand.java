package hypertransfer.lab.command;

import hypertransfer.core.Refusal;
import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.command.option.Options;
import hypertransfer.lab.compare.Standings;
import hypertransfer.lab.experiment.Experiment;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.network.Preset;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.IModelTransformer;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
        name = "reproduce",
        description = "Repeats an experiment of the paper at a preset, and writes its figures as a report.",
        modelTransformer = ReproduceCommand.ListsExperiments.class,
        footer = {
            "  ht reproduce exp1",
            "  ht reproduce exp3 --set steps=1000 --out out/longer",
            "  ht reproduce exp1 --seeds 3     is a difference more than noise?",
            "  ht reproduce arena              is it the optimizer or its schedule?",
            "  ht reproduce exp1 --preset gpt2-124m --set data.train=shards \\",
            "      --set data.validation=shards",
            "",
            "--set applies to every run that does not follow another.",
            "Ctrl-C stops it safely; run the same command again to continue."
        })
public final class ReproduceCommand implements Callable<Integer> {
    static final long FIRST_SEED = 1234;

    @Parameters(paramLabel = "NAME", description = "The experiment; or a file like those in runs/.")
    private String name;

    @Option(
            names = "--preset",
            paramLabel = "NAME",
            defaultValue = "demo",
            completionCandidates = Options.Presets.class,
            description = "The sizes, one of ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}).")
    private Preset preset;

    @Mixin
    private Options.Settings set;

    @Option(
            names = "--seeds",
            paramLabel = "N",
            description = "Number of seeds: 1234, 1235, ... (default: the experiment's, mostly 1).")
    private Integer seeds;

    @Mixin
    private Options.Out out;

    @Mixin
    private JsonOption json;

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
        Experiment experiment = Experiment.read(name);
        Path to = out.or(Options.Out.named(Path.of(name), "-" + preset.label()));
        int count = seeds == null ? experiment.seeds() : seeds;
        boolean seed = set.settings.stream().anyMatch(setting -> setting.startsWith("seed="));
        if (count > 1 && seed) {
            throw new Refusal("--set seed sets one seed, but this experiment has " + count + " (" + FIRST_SEED + ", "
                    + (FIRST_SEED + 1) + ", ...); omit it, or use --seeds 1");
        }
        ConfigurationFile.check("--set", set.settings);
        boolean apart = count > 1 // one seed that is asked for goes on where there are several
                || seeds != null && !seed && Files.isDirectory(to.resolve("seed-" + FIRST_SEED));
        return Standings.train(name, experiment, preset, set.settings, FIRST_SEED, count, apart, to, json);
    }
}
