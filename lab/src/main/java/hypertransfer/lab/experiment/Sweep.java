package hypertransfer.lab.experiment;

import hypertransfer.core.Diverged;
import hypertransfer.core.Refusal;
import hypertransfer.lab.report.Report;
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
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
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

    private final Map<String, List<String>> grid = new LinkedHashMap<>();
    private final Path directory;
    private final PrintWriter out;
    private final Map<Path, Point> points = new LinkedHashMap<>(); // by the directory of the run
    private final List<Result> results = new ArrayList<>();

    /** A value for each key of the grid, and what is trained there. */
    private record Point(Map<String, String> values, Configuration configuration) {
        static String text(Map<String, String> values, String between) {
            return values.entrySet().stream().map(Object::toString).collect(Collectors.joining(between));
        }
    }

    /** What came out; the loss is infinite where the run diverged. */
    private record Result(Map<String, String> values, double validation, double peak, double endToPeak) {}

    /**
     * Every point is checked here, before the first is trained; those that cannot be trained are named and left out.
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
        Map<String, Refusal> refusals = new LinkedHashMap<>();
        for (Map<String, String> values : combinations()) {
            Path run = directory.resolve(Point.text(values, "_").replaceAll("[^A-Za-z0-9._=-]", "-"));
            List<String> all = new ArrayList<>(settings);
            values.forEach((key, value) -> all.add(key + "=" + value));
            Point point;
            try {
                point = new Point(values, Experiment.configuration(file, all));
            } catch (Refusal refused) {
                refusals.put(Point.text(values, " "), refused);
                continue;
            }
            if (points.put(run, point) != null) {
                throw new Refusal("two points of the grid would both be written to " + run
                        + "; choose values that differ in more than punctuation");
            }
        }
        if (points.isEmpty()) {
            throw refusals.values().iterator().next();
        }
        PrintWriter words = Width.folded(out);
        refusals.forEach((point, refused) -> words.println("left out: " + point + ": " + refused.getMessage()));
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
        grid.put(key.equals("adam_rate") ? "adamw.rate" : ofMatrices ? "matrices." + key : key, values);
    }

    /** Of the values of all keys; the last key runs fastest. */
    private List<Map<String, String>> combinations() {
        List<Map<String, String>> all = List.of(Map.of());
        for (Map.Entry<String, List<String>> axis : grid.entrySet()) {
            List<Map<String, String>> longer = new ArrayList<>();
            for (Map<String, String> point : all) {
                for (String value : axis.getValue()) {
                    longer.add(new LinkedHashMap<>(point));
                    longer.getLast().put(axis.getKey(), value);
                }
            }
            all = longer;
        }
        return all;
    }

    /**
     * Trains what is not trained yet; returns whether all was, or it was interrupted. Several processes may do so on one
     * directory: each takes the points that no other holds, and whoever is killed leaves its point to the others.
     */
    public boolean run(Interrupt stop) {
        List<Path> paths = List.copyOf(points.keySet());
        boolean done = new Sharing(paths, stop, out).run(run -> true, run -> {
            Point point = points.get(run);
            out.println(
                    "point " + (paths.indexOf(run) + 1) + " of " + paths.size() + ": " + Point.text(point.values, " "));
            return known(run, point.configuration) || train(run, point.configuration, stop);
        });
        if (done) {
            points.forEach((run, point) -> {
                Turning turning = Turning.of(new Run(run));
                results.add(new Result(point.values, loss(run), turning.peak(), turning.finalToPeak()));
            });
        }
        return done;
    }

    private static boolean known(Path run, Configuration c) {
        if (new Run(run).begun()) {
            Launch.resumable(run, c);
        }
        RunStatus now = new Run(run).status();
        return now.state() == RunStatus.State.FINISHED || now.kind() == FailureKind.DIVERGED;
    }

    private boolean train(Path run, Configuration c, Interrupt stop) {
        try {
            return new Launch(run, c, new Run(run).begun(), true, out).run(stop);
        } catch (Diverged diverged) {
            out.println(diverged.getMessage());
            return true;
        }
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
        List<Result> ranked = new ArrayList<>(results);
        ranked.sort(Comparator.comparingDouble(Result::validation));
        Result best = ranked.getFirst();
        boolean any = Double.isFinite(best.validation);
        Table<Result> table = new Table<>();
        grid.keySet().forEach(key -> table.column(key, "%s", result -> result.values.get(key)));
        words.println();
        table.column("validation", "%10.5f", Result::validation)
                .column("peak rate", "%9.2g", Result::peak)
                .column("end/peak", "%8.2g", Result::endToPeak)
                .column("", "%s", result -> any && result == best ? "*" : "")
                .print(words, ranked);
        Sharing.inTurn(() -> Atomic.write(directory.resolve("sweep.json"), json()));
        words.println(
                any
                        ? String.format("best %.5f with %s", best.validation, Point.text(best.values, " "))
                        : "no best: every point diverged; lower the rates");
        String edges = grid.keySet().stream()
                .filter(key -> any && ends(grid.get(key), best.values.get(key)))
                .collect(Collectors.joining(" and "));
        if (!edges.isEmpty()) { // it may not be the best there is
            words.println("the best lies on the edge of " + edges + ": extend the grid; the page proposes values");
        }
        Path page = directory.resolve("report.html");
        Sharing.inTurn(() -> Report.write(List.copyOf(points.keySet()), page));
        words.println("report: " + page.toAbsolutePath().normalize().toUri());
        words.flush();
        return any;
    }

    /** Whether a value is the smallest or the largest of several numbers above zero. */
    static boolean ends(List<String> values, String value) {
        try {
            var all = values.stream().mapToDouble(Double::parseDouble).summaryStatistics();
            double at = Double.parseDouble(value);
            return all.getCount() > 1 && all.getMin() > 0 && (at == all.getMin() || at == all.getMax());
        } catch (NumberFormatException e) { // words have no order
            return false;
        }
    }

    /** The points, with values as the configuration understands them: numbers, truth values or words. */
    public String json() {
        ArrayNode all = JsonMapper.shared().createArrayNode();
        for (Result result : results) {
            ObjectNode node = all.addObject();
            result.values.forEach((key, value) -> node.set(key, YAML.readTree(value)));
            node.put("validation", Double.isFinite(result.validation) ? (Double) result.validation : null);
        }
        return all.toString();
    }
}
