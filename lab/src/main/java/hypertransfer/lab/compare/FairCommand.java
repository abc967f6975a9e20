package hypertransfer.lab.compare;

import hypertransfer.core.Refusal;
import hypertransfer.core.Space;
import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.command.option.Options;
import hypertransfer.lab.experiment.Experiment;
import hypertransfer.lab.experiment.Launch;
import hypertransfer.lab.experiment.Next;
import hypertransfer.lab.report.Report;
import hypertransfer.lab.terminal.Exit;
import hypertransfer.lab.terminal.Interrupt;
import hypertransfer.lab.terminal.Width;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.file.Atomic;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.RunStatus;
import hypertransfer.train.run.RecordedRates;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code ht fair}: optimizers at one effective schedule, beside each at its own. */
@Command(
        name = "fair",
        description =
                "Trains optimizers at their own rates and again at the effective rates of one of them, and says how much of"
                        + " their difference was rate.",
        footer = {
            "  ht fair out/muon out/adamw",
            "  ht fair runs/muon.yaml runs/adam.yaml --seeds 3 --set steps=200",
            "  ht fair out/adamw out/lion out/muon --schedule-of muon",
            "",
            "Every matrix takes the effective rate that the same matrix had in the named",
            "run: a Base optimizer by the fair rate (mode fair), a Hyperball as its schedule.",
            "AdamW's part keeps its own rate. Finished runs are used as they are. Ctrl-C",
            "stops it safely; run the same command again to continue."
        })
public final class FairCommand implements Callable<Integer> {
    private static final double NOTHING = 1e-9;

    @Parameters(
            paramLabel = "RUN",
            arity = "2..*",
            description = "Runs or configurations of one network, one per side.")
    private List<Path> places;

    @Option(
            names = "--schedule-of",
            paramLabel = "SIDE",
            description = "The side whose effective rates all take (default: the first).")
    private String leader;

    @Option(
            names = "--seeds",
            paramLabel = "N",
            description = "Number of seeds, from the first side's on (default: ${DEFAULT-VALUE}).")
    private int seeds = 1;

    @Mixin
    private Options.Settings set;

    @Mixin
    private Options.Out out;

    @Mixin
    private JsonOption json;

    private final Map<String, Configuration> sides = new LinkedHashMap<>();
    private final List<Path> own = new ArrayList<>(), fair = new ArrayList<>(); // the runs, seed by seed

    /**
     * How much of a difference was rate.
     *
     * @param own the side's validation loss minus the leader's, each at its own rates
     * @param fair the same at the leader's effective rates
     * @param share of the first that is gone in the second; null where there was none
     */
    record Explained(String side, double own, double fair, Double share) {
        String sentence(String leader) {
            return "%s - %s: %+.5f at its own rates, %+.5f at those of %2$s".formatted(side, leader, own, fair)
                    + (share == null ? "" : ": %.0f %% of it was rate".formatted(100 * share));
        }
    }

    private record Answer(String scheduleOf, Comparison own, Comparison fair, List<Explained> explained) {}

    @Override
    public Integer call() {
        readSides();
        leader = leader == null ? sides.keySet().iterator().next() : leader;
        if (!sides.containsKey(leader)) {
            throw new Refusal("--schedule-of is " + leader + "; the sides are " + String.join(", ", sides.keySet()));
        }
        if (seeds < 1) {
            throw new Refusal("--seeds is " + seeds + "; it must be one or more");
        }
        Path to = out.or(Path.of("out", "fair-" + String.join("-", sides.keySet())));
        PrintWriter words = json.words();
        try (Interrupt interrupt = new Interrupt()) {
            long first = sides.get(leader).seed();
            for (long seed = first; seed < first + seeds; seed++) {
                if (!train(seed, to.resolve("seed-" + seed), interrupt)) {
                    words.print(Next.again(to));
                    return Exit.INTERRUPTED;
                }
            }
        }
        Comparison before = Comparison.of(own, leader, null, json::warn),
                after = Comparison.of(fair, leader, null, json::warn);
        Answer answer = new Answer(leader, before, after, explained(before, after));
        json.either(answer, print -> tell(print, answer));
        Path page = to.resolve("report.html");
        Report.write(fair, page);
        words.println(
                "report at one schedule: " + page.toAbsolutePath().normalize().toUri());
        return Exit.FINE;
    }

    /** The configuration of each by its name; all of one network, so that a matrix has its like in each. */
    private void readSides() {
        for (Path place : places) {
            String name = Options.Out.named(place, "").getFileName().toString();
            Configuration c = Experiment.at(place, set.settings);
            if (sides.put(name, c) != null) {
                throw new Refusal("two sides are called " + name + "; give runs whose names differ");
            }
            if (c.matrices().groups().values().stream().anyMatch(group -> group.containsKey("mode"))) {
                throw new Refusal(
                        place + " has groups with a mode of their own (matrices.groups), and all matrices take one"
                                + " here; leave these modes away");
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
    }

    /** One seed: everyone at their own rates, then at the leader's effective ones; false where it was interrupted. */
    private boolean train(long seed, Path to, Interrupt stop) {
        Map<String, Path> runs = new LinkedHashMap<>();
        for (Map.Entry<String, Configuration> side : sides.entrySet()) {
            Path place = places.get(runs.size());
            boolean there = Files.isDirectory(place)
                    && set.settings.isEmpty()
                    && seed == side.getValue().seed()
                    && new Run(place).status().state() == RunStatus.State.FINISHED;
            Path run = there ? place : to.resolve("own").resolve(side.getKey());
            runs.put(side.getKey(), run);
            if (!there && !trained(run, side.getValue(), stop, "seed=" + seed, "target=null")) {
                return false;
            }
        }
        own.addAll(runs.values());
        Path schedule = to.resolve("effective.json");
        if (Files.notExists(schedule)) {
            Atomic.told("make", to, () -> Files.createDirectories(to));
            RecordedRates.of(new Run(runs.get(leader)), "effective", json::warn).write(schedule);
        }
        String recorded = ConfigurationFile.text("matrices.recorded", schedule.toString());
        for (String name : sides.keySet()) {
            boolean leads = name.equals(leader);
            Path run = leads ? runs.get(name) : to.resolve("fair").resolve(name);
            Configuration c = sides.get(name);
            boolean ball = c.matrices().transfer().target() instanceof Space.Hyperball;
            String mode = "matrices.mode=" + (ball ? "hyperball" : "fair");
            fair.add(run);
            if (!leads && !trained(run, c, stop, "seed=" + seed, "target=null", mode, recorded)) {
                return false;
            }
        }
        return true;
    }

    private boolean trained(Path run, Configuration c, Interrupt stop, String... settings) {
        Configuration at = ConfigurationFile.with(c, settings);
        return new Launch(run, at, new Run(run).begun(), true, json.words()).run(stop);
    }

    private static List<Explained> explained(Comparison own, Comparison fair) {
        List<Explained> all = new ArrayList<>();
        for (Comparison.Difference d : own.differences()) {
            double after = fair.differences().stream()
                    .filter(other -> other.name().equals(d.name()))
                    .findFirst()
                    .orElseThrow()
                    .ends()
                    .mean();
            double before = d.ends().mean();
            all.add(new Explained(d.name(), before, after, Math.abs(before) < NOTHING ? null : 1 - after / before));
        }
        return all;
    }

    private static void tell(PrintWriter print, Answer answer) {
        PrintWriter out = Width.folded(print);
        out.println();
        out.println("each at its own rates");
        CompareCommand.print(out, answer.own);
        out.println();
        out.println("all at the effective rates of " + answer.scheduleOf);
        CompareCommand.print(out, answer.fair);
        out.println();
        answer.explained.forEach(e -> out.println(e.sentence(answer.scheduleOf)));
    }
}
