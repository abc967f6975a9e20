package hypertransfer.lab.experiment;

import hypertransfer.core.Diverged;
import hypertransfer.core.Refusal;
import hypertransfer.engine.ranks.Alone;
import hypertransfer.lab.terminal.Interrupt;
import hypertransfer.lab.terminal.Width;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.config.Curve;
import hypertransfer.train.file.Atomic;
import hypertransfer.train.log.FailureKind;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.RunStatus;
import hypertransfer.train.log.Turning;
import hypertransfer.train.network.Preset;
import hypertransfer.train.run.Checkpoints;
import hypertransfer.train.run.RecordedRates;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * An experiment at a preset with one seed, in a directory: trains what is not finished yet.
 *
 * @param tuning the directory of the first seed, where grids are trained
 */
public record Plan(
        Experiment experiment,
        Preset preset,
        List<String> settings,
        Path directory,
        Path tuning,
        Map<String, List<Point>> points,
        PrintWriter out) {
    /**
     * A point of a run's grid; a run without a grid has one.
     *
     * @param folder the name of its folder: the run's, and the values of the grid
     * @param settings the run's own, with one value each
     * @param grid those of them that have several
     */
    public record Point(String run, String folder, List<String> settings, Map<String, String> grid) {}

    public Plan(
            Experiment experiment, Preset preset, List<String> settings, Path directory, Path tuning, PrintWriter out) {
        this(experiment, preset, settings, directory, tuning, points(experiment, preset), out);
        for (Point point : points.values().stream().flatMap(List::stream).toList()) {
            for (String setting : settings) {
                if (point.grid.containsKey(setting.split("=", 2)[0])) {
                    throw new Refusal("--set " + setting + " would set every point of the grid of run " + point.run
                            + " to one value; change the grid in the experiment's file instead");
                }
            }
            if (needs(point.run).findAny().isEmpty()) { // what cannot be trained is told before anything is
                configuration(point);
            }
        }
    }

    /** Of every run, at what it is trained: of its settings the later ones win, key by key. */
    private static Map<String, List<Point>> points(Experiment experiment, Preset preset) {
        Map<String, List<Point>> all = new LinkedHashMap<>();
        experiment.members().forEach((run, member) -> {
            Map<String, List<String>> own = new LinkedHashMap<>();
            List<String> tuned = experiment.tuned(preset).runs().getOrDefault(run, List.of());
            Stream.concat(member.settings().stream(), tuned.stream()).forEach(setting -> {
                String[] pair = setting.split("=", 2); // the pattern of a group may have a bar
                List<String> values =
                        List.of(pair[1].contains("{") ? new String[] {pair[1]} : pair[1].split("\\|", -1));
                if (values.size() > 1
                        && (values.contains("") || Set.copyOf(values).size() < values.size())) {
                    throw new Refusal("run " + run + " has the grid " + setting + "; write every value, and only once");
                }
                own.put(pair[0], values);
            });
            all.put(
                    run,
                    Sweep.combinations(own).stream()
                            .map(values -> point(run, own, values))
                            .toList());
        });
        return all;
    }

    private static Point point(String run, Map<String, List<String>> own, Map<String, String> values) {
        Map<String, String> grid = new LinkedHashMap<>(values);
        grid.keySet().removeIf(key -> own.get(key).size() == 1);
        String folder = Stream.concat(Stream.of(run), grid.values().stream()).collect(Collectors.joining("-"));
        return new Point(
                run, folder, values.entrySet().stream().map(Object::toString).toList(), grid);
    }

    /**
     * Trains every run; returns whether all are finished, or it was interrupted. Several processes may do so on one
     * directory.
     */
    public boolean run(Interrupt stop) {
        Experiment.Tuned tuned = experiment.tuned(preset);
        PrintWriter words = Width.folded(out);
        words.println(experiment.title() + ", preset " + preset.label() + ", in " + directory);
        boolean rates = points.values().stream()
                .flatMap(List::stream)
                .anyMatch(point -> point.settings.stream().anyMatch(setting -> setting.startsWith("matrices.rate=")));
        if (tuned.settings().isEmpty() && tuned.runs().isEmpty() && !rates) {
            words.println(
                    "no rates are tuned for this preset, so every run takes the defaults; tune them with 'ht sweep'"
                            + " and put them into a file like those in runs/");
        }
        return points.keySet().stream()
                .collect(Collectors.groupingBy(this::after, TreeMap::new, Collectors.toList()))
                .values()
                .stream()
                .allMatch(runs -> train(runs, stop));
    }

    /**
     * How many times others must be done before it is known where a run is trained: its folder has the values of grids, and
     * whether a run elsewhere is used as it is follows from the configuration.
     */
    private int after(String run) {
        boolean compared = experiment.members().get(run).elsewhere();
        return needs(run)
                .mapToInt(other -> after(other) + (compared || points.get(other).size() > 1 ? 1 : 0))
                .max()
                .orElse(0);
    }

    private boolean train(Collection<String> runs, Interrupt stop) {
        Map<Path, Point> trials = new LinkedHashMap<>();
        runs.forEach(run -> trained(run).forEach(point -> {
            Point other = trials.put(at(point), point);
            if (other != null) {
                throw new Refusal("runs " + other.run + " and " + run + " would both be trained in " + at(point)
                        + "; give one of them another name");
            }
        }));
        List<Path> paths = List.copyOf(trials.keySet());
        Predicate<Path> ready = // the runs that it is made from are finished, or never will be
                path -> needs(trials.get(path).run).allMatch(other -> lost(other) || settled(other));
        Sharing all = new Sharing(paths, stop, out);
        return all.run(ready, path -> {
            int number = paths.indexOf(path) + 1;
            String run = trials.get(path).run;
            String which = "run " + number + " of " + paths.size() + ", " + path.getFileName();
            Optional<String> missing = needs(run).filter(this::lost).findFirst();
            if (missing.isPresent()) {
                out.println(which + ": left out, because " + missing.get() + " has no result");
                return true;
            }
            Configuration asked = configuration(trials.get(path));
            Configuration c = new Run(path).begun() ? Launch.resumable(path, asked) : asked;
            if (over(run, path)) {
                out.println(which + ": finished before");
                link(directory.resolve(trials.get(path).folder), path);
                lighten(path);
                return true;
            }
            if (Files.isSymbolicLink(path) && !Files.exists(path)) { // to a run that is gone
                Atomic.told("delete", path, () -> Files.deleteIfExists(path));
            }
            Width.folded(out).println(which + all.left(path));
            return train(run, new Launch(path, c, number > 1, out, new Alone()), stop);
        });
    }

    private boolean train(String run, Launch launch, Interrupt stop) {
        try {
            boolean finished = launch.run(stop, Set.of());
            if (finished) {
                lighten(launch.directory());
            }
            return finished;
        } catch (Diverged diverged) {
            if (!mayDiverge(run)) {
                throw diverged;
            }
            out.println(diverged.getMessage()); // which is a result
            return true;
        }
    }

    /** A run that lies elsewhere has a link here, by which it is found among the others. */
    private void link(Path own, Path run) {
        try {
            Path here = Files.createDirectories(directory).toRealPath(), to = here.relativize(run.toRealPath());
            if (Files.isSymbolicLink(own) && !Files.readSymbolicLink(own).equals(to)) {
                Files.delete(own); // of another run, which may be gone
            }
            Files.createSymbolicLink(own, to);
        } catch (IOException | UnsupportedOperationException e) {
            // it lies here, or there is a link, or the file system has none
        }
    }

    private void lighten(Path run) {
        if (!experiment.weights() && run.startsWith(directory) && Files.exists(run.resolve(Run.CHECKPOINTS))) {
            new Checkpoints(new Run(run)).delete();
        }
    }

    private Stream<String> needs(String run) {
        return experiment.members().get(run).needs().stream();
    }

    /** Whether a run diverged, at all points, or cannot be made, because another one diverged. */
    private boolean lost(String run) {
        return needs(run).anyMatch(this::lost) || settled(run) && path(run).isEmpty();
    }

    private boolean settled(String run) {
        return trained(run).allMatch(point -> over(run, at(point)));
    }

    /** The points that are trained with this seed. */
    private Stream<Point> trained(String run) {
        return directory.equals(tuning) ? all(run).stream() : chosen(run).stream();
    }

    /** Whether nothing is left to train. */
    private boolean over(String run, Path path) {
        RunStatus now = new Run(path).status();
        return now.state() == RunStatus.State.FINISHED || now.kind() == FailureKind.DIVERGED && mayDiverge(run);
    }

    /** Whether that is a result: a point of a grid, or a row of a table. */
    private boolean mayDiverge(String run) {
        return points.get(run).size() > 1 || !experiment.again().isEmpty();
    }

    /** The point of a run that ended lowest with the first seed; nothing where all diverged. */
    public Optional<Point> chosen(String run) {
        List<Point> all = all(run);
        return all.size() == 1
                ? Optional.of(all.getFirst())
                : all.stream()
                        .min(Comparator.comparingDouble(this::tuned))
                        .filter(point -> Double.isFinite(tuned(point)));
    }

    /**
     * The points of a run; none where a run that it is made from diverged. The folder of one that is made from others has
     * their values: where these change, it is another run.
     */
    private List<Point> all(String run) {
        List<Optional<Point>> from = needs(run).map(this::chosen).toList();
        String values = from.stream()
                .flatMap(Optional::stream)
                .map(point -> point.folder.substring(point.run.length()))
                .distinct()
                .collect(Collectors.joining());
        return from.stream().anyMatch(Optional::isEmpty)
                ? List.of()
                : points.get(run).stream()
                        .map(point -> new Point(run, point.folder + values, point.settings, point.grid))
                        .toList();
    }

    private double tuned(Point point) {
        return Sweep.loss(tuning.resolve(point.folder));
    }

    /** The keys whose best value is an end of the grid. */
    public List<String> edges(String run) {
        Map<String, String> best = chosen(run).map(Point::grid).orElse(Map.of());
        return best.keySet().stream()
                .filter(key -> Sweep.ends(points.get(run).stream().map(point -> point.grid.get(key)), best.get(key)))
                .toList();
    }

    /** Where a finished run is, at the point that was chosen for it; nothing where it diverged. */
    public Optional<Path> path(String run) {
        return chosen(run).map(this::at).filter(path -> new Run(path).status().state() == RunStatus.State.FINISHED);
    }

    /** Refuses runs without a result, unless the experiment trains runs again: there it is a row without numbers. */
    public void requireResults() {
        for (String run : experiment.members().keySet()) {
            if (experiment.again().isEmpty() && path(run).isEmpty()) {
                throw new Refusal("run " + run + " has no result, because a grid diverged at every point;"
                        + " lower its rates in the experiment's file");
            }
        }
    }

    /** The last validation loss of a run, infinite where it diverged. */
    public double loss(String run) {
        return path(run).map(Sweep::loss).orElse(Double.POSITIVE_INFINITY);
    }

    private Path origin(Experiment.Member member) {
        return member.elsewhere()
                ? Path.of(member.origin())
                : path(member.origin()).orElseThrow();
    }

    /** Where a point is trained; a finished run elsewhere whose configuration it has, apart from its target, is used as it is. */
    private Path at(Point point) {
        Experiment.Member member = experiment.members().get(point.run);
        Path own = directory.resolve(point.folder);
        if (!member.elsewhere() || !Run.in(origin(member))) {
            return own;
        }
        Run there = new Run(origin(member));
        Map<String, String> before = ConfigurationFile.settings(there.configuration());
        Map<String, String> now = ConfigurationFile.settings(configuration(point));
        before.remove("target");
        now.remove("target");
        return before.equals(now) && there.status().state() == RunStatus.State.FINISHED ? there.directory() : own;
    }

    Configuration configuration(Point point) {
        Experiment.Member member = experiment.members().get(point.run);
        Experiment.Tuned tuned = experiment.tuned(preset);
        List<String> all = new ArrayList<>();
        if (member.origin() == null) {
            all.add("preset=" + preset.label());
            all.addAll(experiment.settings());
            all.addAll(tuned.settings());
        }
        all.addAll(point.settings);
        if (member.follows() != null) { // relative, so that all can be moved together
            all.add(ConfigurationFile.text(
                    "target", "../" + path(member.follows()).orElseThrow().getFileName()));
        } else {
            all.addAll(settings);
        }
        if (member.recordedOf() != null) {
            all.add(ConfigurationFile.text("matrices.recorded", recorded(member).toString()));
        }
        Configuration c = Configuration.in(
                "run " + point.run,
                () -> member.origin() == null
                        ? ConfigurationFile.of(all.toArray(String[]::new))
                        : Experiment.at(origin(member), all));
        if (member.ratioOf() == null) {
            return c;
        }
        double ratio = Configuration.in(
                "run " + point.run + ", ratio_of " + member.ratioOf(),
                () -> finalRatio(c, ratio(path(member.ratioOf()).orElseThrow())));
        return ConfigurationFile.with(c, "matrices.final_ratio=" + ratio);
    }

    /** A file with the rates of the run that it takes them from, as they are now. */
    private Path recorded(Experiment.Member member) {
        Point point = chosen(member.recordedOf()).orElseThrow();
        Path file = directory
                .resolve(point.folder + "-" + member.series() + ".json")
                .toAbsolutePath();
        Sharing.inTurn(() -> RecordedRates.of(new Run(at(point)), member.series(), out::println)
                .write(file));
        return file;
    }

    /**
     * The final ratio with which the last step has this part of the peak rate. A schedule reaches its final ratio after
     * the last step, so the two differ; every shape's last rate is a straight line in the final ratio.
     */
    static double finalRatio(Configuration c, double wanted) {
        Curve curve = c.matrices().curve();
        Curve toZero = new Curve(curve.schedule(), curve.warmup(), 0);
        double least = toZero.from(1, c.steps()).rate(c.steps() - 1);
        double ratio = wanted == 1 ? 1 : (wanted - least) / (1 - least);
        if (!(ratio >= 0 && ratio <= 1)) {
            throw new Refusal("a last rate of " + wanted + " times the peak cannot be reached: schedule "
                    + curve.schedule().text() + " with steps=" + c.steps() + " ends at " + least
                    + " of the peak or above; take more steps or another schedule");
        }
        return ratio;
    }

    /** The mean over all hidden matrices of the last effective rate over the largest. */
    public static double ratio(Path run) {
        double ratio = Turning.of(new Run(run)).finalToPeak();
        if (Double.isNaN(ratio)) {
            throw new Refusal(run + " has logged no matrices, so its final-to-peak ratio is not known");
        }
        return ratio;
    }
}
