package hypertransfer.lab.experiment;

import hypertransfer.core.Diverged;
import hypertransfer.core.Refusal;
import hypertransfer.engine.ranks.Alone;
import hypertransfer.lab.terminal.Interrupt;
import hypertransfer.lab.terminal.Table;
import hypertransfer.lab.terminal.Width;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.file.Atomic;
import hypertransfer.train.log.FailureKind;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.RunStatus;
import hypertransfer.train.log.Turning;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;
import tools.jackson.dataformat.yaml.YAMLMapper;

/**
 * A configuration trained at every point of a grid. Divergence is a result, an infinite loss. Every other failure ends
 * the sweep and leaves the point open, so that the next start tries it again.
 */
public final class Sweep {
    private static final YAMLMapper YAML = new YAMLMapper();
    private static final int LARGEST = 10_000;
    /** What the losses of one sweep have in common, unless it is an axis. */
    private static final List<String> COMMON =
            List.of("network", "preset", "seed", "steps", "data.train", "data.validation");

    private final Map<String, List<String>> grid = new LinkedHashMap<>();
    private final Path directory;
    private final PrintWriter out;
    private final SequencedMap<Path, Point> points = new LinkedHashMap<>(); // by the directory of the run

    /** A value for each key of the grid, and what is trained there. */
    private record Point(Map<String, String> values, Configuration configuration) {}

    /** What came out; the loss is infinite where the run diverged. */
    private record Result(Map<String, String> values, double validation, Turning turning) {}

    /**
     * Every point is checked here, before the first is trained; those that cannot be trained are named and left out. A value
     * with which none can be trained is refused.
     *
     * @param axes each as {@code KEY=VALUE,VALUE,...}
     */
    public Sweep(Path file, List<String> settings, List<String> axes, Path directory, PrintWriter out) {
        this.directory = directory;
        this.out = out;
        axes.forEach(this::addAxis);
        if (grid.size() < axes.size()) {
            throw new Refusal("--grid has a key twice: " + String.join(" ", axes) + "; give all its values at once");
        }
        double size = grid.values().stream().mapToDouble(List::size).reduce(1, (a, b) -> a * b);
        if (size > LARGEST) {
            throw new Refusal("--grid has %.0f points; at most %,d can be trained".formatted(size, LARGEST));
        }
        Map<Map<String, String>, Refusal> refusals = new LinkedHashMap<>();
        for (Map<String, String> values : combinations(grid)) {
            Path run = directory.resolve(text(values, "_").replaceAll("[^A-Za-z0-9._=-]", "-"));
            if (points.containsKey(run)) {
                throw new Refusal("two points of the grid would both be written to " + run
                        + "; choose values that differ in more than punctuation");
            }
            try {
                List<String> all =
                        Stream.concat(settings.stream(), pairs(values)).toList();
                points.put(run, new Point(values, Experiment.configuration(file, all)));
            } catch (Refusal refused) {
                refusals.put(values, refused);
            }
        }
        refusals.forEach((values, refused) -> values.forEach((key, value) -> {
            if (points.values().stream()
                    .noneMatch(point -> point.values.get(key).equals(value))) {
                throw refused; // a mistake, where a corner of the grid can be left out
            }
        }));
        if (Files.isDirectory(directory)) {
            Map<String, String> here =
                    ConfigurationFile.settings(points.firstEntry().getValue().configuration);
            Set<Map<String, String>> asked = points.values().stream()
                    .map(point -> ConfigurationFile.settings(point.configuration))
                    .collect(Collectors.toSet());
            Run.under(directory, passedOver -> {}).reversed().forEach(run -> include(here, asked, run));
        }
        PrintWriter words = Width.folded(out);
        refusals.forEach(
                (values, refused) -> words.println("left out: " + text(values, " ") + ": " + refused.getMessage()));
    }

    /** Refuses a run of another sweep; one that is done and differs only in the keys of the grid is another point of this. */
    private void include(Map<String, String> here, Set<Map<String, String>> asked, Run run) {
        Map<String, String> there = run.settings();
        for (String key : COMMON) {
            if (!grid.containsKey(key) && !here.get(key).equals(there.get(key))) {
                throw new Refusal(directory + " has another sweep: " + key + " is " + there.get(key) + " in "
                        + run.directory().getFileName() + ", and " + here.get(key) + " here; choose another --out");
            }
        }
        there.put("engine", here.get("engine"));
        boolean known = asked.contains(there);
        Map<String, String> values = new LinkedHashMap<>();
        grid.keySet().forEach(key -> values.put(key, there.put(key, here.get(key))));
        if (!known && there.equals(here) && over(run.directory()) && !points.containsKey(run.directory())) {
            points.putFirst(run.directory(), new Point(values, run.configuration()));
        }
    }

    private static boolean over(Path run) {
        RunStatus now = new Run(run).status();
        return now.state() == RunStatus.State.FINISHED || now.kind() == FailureKind.DIVERGED;
    }

    private void addAxis(String text) {
        int equals = text.indexOf('=');
        String key = text.substring(0, Math.max(0, equals)).strip();
        List<String> values = Arrays.stream(text.substring(equals + 1).split(",", -1))
                .map(String::strip)
                .toList();
        if (key.isEmpty() || values.contains("")) {
            throw new Refusal("--grid is '" + text + "'; it must be KEY=VALUE,VALUE,..., such as rate=0.01,0.02");
        }
        if (values.stream().distinct().count() < values.size()) {
            throw new Refusal("--grid " + text + " has a value twice; name each value once");
        }
        boolean ofMatrices = ConfigurationFile.known("matrices." + key) && !ConfigurationFile.known(key);
        String whole = key.equals("adam_rate") ? "adamw.rate" : ofMatrices ? "matrices." + key : key;
        ConfigurationFile.check(
                "--grid", values.stream().map(value -> whole + "=" + value).toList());
        grid.put(whole, values);
    }

    private static Stream<String> pairs(Map<String, String> values) {
        return values.entrySet().stream().map(Object::toString);
    }

    private static String text(Map<String, String> values, String between) {
        return pairs(values).collect(Collectors.joining(between));
    }

    /** A value of each key, in all ways; the last key runs fastest. */
    static List<Map<String, String>> combinations(Map<String, List<String>> grid) {
        List<Map<String, String>> all = List.of(Map.of());
        for (String key : grid.keySet()) {
            all = all.stream()
                    .flatMap(point -> grid.get(key).stream().map(value -> {
                        Map<String, String> longer = new LinkedHashMap<>(point);
                        longer.put(key, value);
                        return longer;
                    }))
                    .toList();
        }
        return all;
    }

    /**
     * Trains what is not trained yet; returns whether all was, or it was interrupted. Several processes may do so on one
     * directory: each takes the points that no other holds, and whoever is killed leaves its point to the others.
     */
    public boolean run(Interrupt stop) {
        List<Path> paths = List.copyOf(points.keySet());
        Sharing all = new Sharing(paths, stop, out);
        return all.run(run -> true, run -> {
            Point point = points.get(run);
            boolean over = over(run);
            String left = over ? "; trained before" : all.left(run);
            String which = "point " + (paths.indexOf(run) + 1) + " of " + paths.size() + ": ";
            Width.folded(out).println(which + text(point.values, " ") + left);
            if (new Run(run).begun()) {
                Launch.resumable(run, point.configuration);
            }
            try {
                Launch launch = new Launch(run, point.configuration, true, out, new Alone());
                return over || launch.run(stop, Set.of());
            } catch (Diverged diverged) {
                out.println(diverged.getMessage());
                return true;
            }
        });
    }

    /** A finished run without a finite loss has none that could be compared. */
    static double loss(Path run) {
        RunStatus now = new Run(run).status();
        return now.state() == RunStatus.State.FINISHED && Double.isFinite(now.validation())
                ? now.validation()
                : Double.POSITIVE_INFINITY;
    }

    /** Prints the losses and writes {@code sweep.json} and a page; returns whether there is a best point. */
    public boolean show() {
        PrintWriter words = Width.folded(out);
        List<Result> ranked = points.entrySet().stream()
                .map(at -> new Result(at.getValue().values, loss(at.getKey()), Turning.of(new Run(at.getKey()))))
                .sorted(Comparator.comparingDouble(Result::validation))
                .toList();
        Result best = ranked.getFirst();
        boolean any = Double.isFinite(best.validation);
        Table<Result> table = new Table<>();
        grid.keySet().forEach(key -> table.column(key, "%s", result -> result.values.get(key)));
        words.println();
        table.column("validation", "%10.5f", Result::validation)
                .column("peak rate", "%9.2g", result -> result.turning.peak())
                .column("end/peak", "%8.2g", result -> result.turning.finalToPeak())
                .column("", "%s", result -> any && result == best ? "*" : "")
                .print(words, ranked);
        Sharing.inTurn(() -> Atomic.write(directory.resolve("sweep.json"), json()));
        words.println(
                any
                        ? String.format("best %.5f with %s", best.validation, text(best.values, " "))
                        : "no best: every point diverged; lower the rates");
        String edges = grid.keySet().stream()
                .filter(key -> any && ends(ranked.stream().map(r -> r.values.get(key)), best.values.get(key)))
                .collect(Collectors.joining(" and "));
        if (!edges.isEmpty()) { // it may not be the best there is
            words.println("the best lies on the edge of " + edges + ": extend the grid; the page proposes values");
        }
        Sharing.report(null, List.copyOf(points.keySet()), directory, words);
        return any;
    }

    /** Whether a value is the smallest or the largest of several numbers above zero. */
    static boolean ends(Stream<String> values, String value) {
        try {
            var all = values.distinct().mapToDouble(Double::parseDouble).summaryStatistics();
            double at = Double.parseDouble(value);
            return all.getCount() > 1 && all.getMin() > 0 && (at == all.getMin() || at == all.getMax());
        } catch (NumberFormatException e) { // words have no order
            return false;
        }
    }

    /** The points, with values as the configuration understands them: numbers, truth values or words. */
    public String json() {
        ArrayNode all = JsonMapper.shared().createArrayNode();
        points.forEach((run, point) -> {
            ObjectNode node = all.addObject();
            point.values.forEach((key, value) -> node.set(key, YAML.readTree(value)));
            double loss = loss(run);
            node.put("validation", Double.isFinite(loss) ? (Double) loss : null);
        });
        return all.toString();
    }
}
