package hypertransfer.lab.compare;

import hypertransfer.core.Refusal;
import hypertransfer.core.Space;
import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.command.option.Options;
import hypertransfer.lab.experiment.Experiment;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.network.Preset;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
        name = "fair",
        description =
                "Trains optimizers at their own rates and again at the effective rates of one of them, and says how much of"
                        + " their difference came from the rates.",
        footer = {
            "  ht fair out/muon out/adamw",
            "  ht fair runs/muon.yaml runs/adam.yaml --seeds 3 --set steps=200",
            "  ht fair out/adamw out/lion out/muon --schedule-of muon",
            "",
            "Every matrix takes the effective rates that the same matrix had in the run of",
            "--schedule-of: a Base optimizer through the fair rate (mode fair), a Hyperball",
            "as its schedule. AdamW's part keeps its own rate. Finished runs are used as they",
            "are. Ctrl-C stops it safely; run the same command again to continue."
        })
public final class FairCommand implements Callable<Integer> {
    @Parameters(
            paramLabel = "RUN",
            arity = "1..*",
            description = "Runs or configurations of one network, one per side.")
    private List<Path> places;

    @Option(
            names = "--schedule-of",
            paramLabel = "SIDE",
            description = "The side whose effective rates all sides take (default: the first).")
    private String leader;

    @Option(
            names = "--seeds",
            paramLabel = "N",
            description = "Number of seeds; the first is the named side's own (default: ${DEFAULT-VALUE}).")
    private int seeds = 1;

    @Mixin
    private Options.Settings set;

    @Mixin
    private Options.Out out;

    @Mixin
    private JsonOption json;

    private final Map<String, Configuration> sides = new LinkedHashMap<>();

    @Override
    public Integer call() {
        if (places.size() < 2) {
            throw new Refusal(
                    "there is only one side, " + places.getFirst() + "; give two or more runs or configurations");
        }
        readSides();
        leader = leader == null ? sides.keySet().iterator().next() : leader;
        if (!sides.containsKey(leader)) {
            throw new Refusal("--schedule-of is " + leader + "; the sides are " + String.join(", ", sides.keySet()));
        }
        Path to = out.or(Path.of("out", "fair-" + String.join("-", sides.keySet())));
        Configuration first = sides.get(leader);
        return Standings.train(
                "", experiment(first.preset()), first.preset(), List.of(), first.seed(), seeds, true, to, json);
    }

    /** The sides, the leader first, and each again at the leader's effective rates. */
    private Experiment experiment(Preset preset) {
        Map<String, Experiment.Member> runs = new LinkedHashMap<>();
        runs.put(leader, null);
        Map<String, List<String>> modes = new HashMap<>();
        List<String> settings =
                Stream.concat(set.settings.stream(), Stream.of("target=null")).toList();
        Iterator<Path> place = places.iterator();
        sides.forEach((name, c) -> {
            String like = place.next().toAbsolutePath().toString();
            runs.put(name, new Experiment.Member(null, null, like, null, null, null, settings));
            if (!name.equals(leader)) {
                modes.put(name + "-fair", List.of(mode(name, c)));
            }
        });
        var fair = new Experiment.Member(null, null, null, leader, null, null, List.of());
        var tuned = new Experiment.Tuned(List.of("preset=" + preset.label()), modes);
        String title = String.join(", ", runs.keySet()) + " at the effective rates of " + leader;
        return new Experiment(title, null, seeds, runs, Map.of("fair", fair), Map.of(preset.label(), tuned), true);
    }

    /** The setting with which a side takes the common rates; one that cannot is refused before anything is trained. */
    private String mode(String name, Configuration c) {
        String mode = c.matrices().transfer().target() instanceof Space.Hyperball ? "hyperball" : "fair";
        try {
            ConfigurationFile.with(c, "matrices.mode=" + mode);
            return "matrices.mode=" + mode;
        } catch (Refusal e) {
            throw new Refusal(
                    name + " cannot take the effective rates of " + leader + ": " + e.getMessage()
                            + "; remove that setting, or give --schedule-of " + name,
                    e);
        }
    }

    /** The last name of its path, behind that of the folder above where another side has the same. */
    private String name(Path place) {
        Path full = place.toAbsolutePath().normalize(), named = Options.Out.named(place, "");
        long alike = places.stream()
                .filter(other -> Options.Out.named(other, "").equals(named))
                .count();
        String above = alike == 1 ? "" : full.getName(Math.max(0, full.getNameCount() - 2)) + "-";
        return above + named.getFileName();
    }

    /** The configuration of each by its name; all of one network, so that a matrix has its like in each. */
    private void readSides() {
        for (Path place : places) {
            String name = name(place);
            Configuration c = Experiment.at(place, set.settings);
            if (sides.put(name, c) != null) {
                throw new Refusal("two sides are called " + name + "; give runs whose names differ");
            }
            if (c.matrices().groups().values().stream().anyMatch(group -> group.containsKey("mode"))) {
                throw new Refusal(
                        place + " has groups with a mode of their own (matrices.groups), but here all matrices"
                                + " take one mode; omit these modes");
            }
            Configuration one = sides.values().iterator().next();
            if (!c.architecture().equals(one.architecture())
                    || c.steps() != one.steps()
                    || c.tokensPerStep() != one.tokensPerStep()
                    || !c.data().equals(one.data())) {
                throw new Refusal(place + " has another network, number of steps, batch or text than "
                        + places.getFirst() + "; only the optimizers may differ");
            }
        }
        for (String name : sides.keySet()) {
            if (sides.containsKey(name + "-fair")) {
                throw new Refusal("the sides " + name + " and " + name + "-fair clash, because " + name
                        + "-fair is also the name of " + name + " at the common rates; rename one");
            }
        }
    }
}
