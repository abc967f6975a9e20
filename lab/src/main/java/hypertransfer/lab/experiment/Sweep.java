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
import java.util.Optional;
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

    private final Grid grid;
    private final Path directory;
    private final PrintWriter out;
    private final Map<Path, Configuration> runs = new LinkedHashMap<>();
    private final List<List<String>> trained = new ArrayList<>(); // the points of these runs
    private final List<Point> points = new ArrayList<>();

    /** A point that was trained; the loss is infinite where the run diverged. */
    private record Point(List<String> settings, double validation, double peak, double endToPeak) {}

    /** Every point is checked here, before the first is trained; those that cannot be trained are named and left out. */
    public Sweep(Path file, List<String> settings, Grid grid, Path directory, PrintWriter out) {
        this.grid = grid;
        this.directory = directory;
        this.out = out;
        Map<String, Refusal> refusals = new LinkedHashMap<>();
        for (List<String> point : grid.points()) {
            Path run = directory.resolve(String.join("_", point).replaceAll("[^A-Za-z0-9._=-]", "-"));
            List<String> all = Stream.concat(settings.stream(), point.stream()).toList();
            Configuration c;
            try {
                c = Experiment.configuration(file, all);
            } catch (Refusal refused) {
                refusals.put(String.join(" ", point), refused);
                continue;
            }
            trained.add(point);
            if (runs.put(run, c) != null) {
                throw new Refusal("two points of the grid would both be written to " + run
                        + "; choose values that differ in more than punctuation");
            }
        }
        if (runs.isEmpty()) {
            throw refusals.values().iterator().next();
        }
        PrintWriter words = Width.folded(out);
        refusals.forEach((point, refused) -> words.println("left out: " + point + ": " + refused.getMessage()));
    }

    /**
     * Trains what is not trained yet; returns whether all was, or it was interrupted. Several processes may do so on one
     * directory: each takes the points that no other holds, and whoever is killed leaves its point to the others.
     */
    public boolean run(Interrupt stop) {
        List<List<String>> all = trained;
        List<Path> paths = List.copyOf(runs.keySet());
        boolean done = new Sharing(paths, stop, out).run(run -> true, run -> {
            int number = paths.indexOf(run);
            out.println("point " + (number + 1) + " of " + all.size() + ": " + String.join(" ", all.get(number)));
            return known(run, runs.get(run)) || train(run, runs.get(run), stop);
        });
        if (done) {
            for (int k = 0; k < paths.size(); k++) {
                Turning turning = Turning.of(new Run(paths.get(k)));
                points.add(new Point(all.get(k), loss(paths.get(k)), turning.peak(), turning.finalToPeak()));
            }
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
    private static double loss(Path run) {
        RunStatus now = new Run(run).status();
        return now.state() == RunStatus.State.FINISHED && Double.isFinite(now.validation())
                ? now.validation()
                : Double.POSITIVE_INFINITY;
    }

    /** Prints the losses and writes {@code sweep.json} and a page; returns whether there is a best point. */
    public boolean show() {
        PrintWriter words = Width.folded(out);
        Optional<Point> best = points.stream()
                .filter(point -> Double.isFinite(point.validation))
                .min(Comparator.comparingDouble(Point::validation));
        Table<Point> table = new Table<>();
        for (int i = 0; i < grid.axes().size(); i++) {
            String key = grid.axes().get(i).key();
            int axis = i;
            table.column(key, "%s", point -> point.settings.get(axis).substring(key.length() + 1));
        }
        words.println();
        table.column("validation", "%10.5f", Point::validation)
                .column("peak rate", "%9.2g", Point::peak)
                .column("end/peak", "%8.2g", Point::endToPeak)
                .column("", "%s", point -> best.filter(b -> b == point).isPresent() ? "*" : "")
                .print(
                        words,
                        points.stream()
                                .sorted(Comparator.comparingDouble(Point::validation))
                                .toList());
        Sharing.inTurn(() -> Atomic.write(directory.resolve("sweep.json"), json()));
        words.println(best.map(
                        point -> String.format("best %.5f with %s", point.validation, String.join(" ", point.settings)))
                .orElse("no best: every point diverged; lower the rates"));
        best.flatMap(this::edge).ifPresent(words::println);
        Path page = directory.resolve("report.html");
        Sharing.inTurn(() -> Report.write(List.copyOf(runs.keySet()), page));
        words.println("report: " + page.toAbsolutePath().normalize().toUri());
        words.flush();
        return best.isPresent();
    }

    /** A best value on the border of the grid may not be the best there is; the page says what to try next. */
    private Optional<String> edge(Point best) {
        List<String> keys = new ArrayList<>();
        for (int i = 0; i < grid.axes().size(); i++) {
            Grid.Axis axis = grid.axes().get(i);
            if (axis.ends(best.settings.get(i).substring(axis.key().length() + 1))) {
                keys.add(axis.key());
            }
        }
        return keys.isEmpty()
                ? Optional.empty()
                : Optional.of("the best lies on the edge of " + String.join(" and ", keys)
                        + ": extend the grid; the page proposes values");
    }

    /** The points, with values as the configuration understands them: numbers, truth values or words. */
    public String json() {
        ArrayNode all = JsonMapper.shared().createArrayNode();
        for (Point point : points) {
            ObjectNode node = all.addObject();
            for (String setting : point.settings) {
                int equals = setting.indexOf('=');
                node.set(setting.substring(0, equals), YAML.readTree(setting.substring(equals + 1)));
            }
            node.put("validation", Double.isFinite(point.validation) ? (Double) point.validation : null);
        }
        return all.toString();
    }

    /** The points of a sweep: every combination of the values of some keys. */
    public record Grid(List<Axis> axes) {
        private static final int LARGEST = 10_000;

        public record Axis(String key, List<String> values) {
            private static Axis parse(String text) {
                int equals = text.indexOf('=');
                String key = text.substring(0, Math.max(0, equals)).strip();
                List<String> values = Arrays.stream(text.substring(equals + 1).split(",", -1))
                        .map(String::strip)
                        .toList();
                if (key.isEmpty() || values.stream().anyMatch(String::isEmpty)) {
                    throw new Refusal(
                            "--grid is '" + text + "'; it must be KEY=VALUE,VALUE,..., such as rate=0.01,0.02");
                }
                if (values.stream().distinct().count() < values.size()) {
                    throw new Refusal("--grid " + text + " has a value twice; name each value once");
                }
                boolean ofMatrices = ConfigurationFile.known("matrices." + key) && !ConfigurationFile.known(key);
                String whole = key.equals("adam_rate") ? "adamw.rate" : ofMatrices ? "matrices." + key : key;
                return new Axis(whole, values);
            }

            /** Whether this is the smallest or the largest of several numbers above zero. */
            boolean ends(String value) {
                try {
                    double[] sorted = values.stream()
                            .mapToDouble(Double::parseDouble)
                            .sorted()
                            .toArray();
                    double at = Double.parseDouble(value);
                    return sorted.length > 1 && sorted[0] > 0 && (at == sorted[0] || at == sorted[sorted.length - 1]);
                } catch (NumberFormatException e) { // words have no order
                    return false;
                }
            }
        }

        public static Grid parse(List<String> texts) {
            List<Axis> axes = texts.stream().map(Axis::parse).toList();
            if (axes.stream().map(Axis::key).distinct().count() < axes.size()) {
                throw new Refusal(
                        "--grid has a key twice: " + String.join(" ", texts) + "; give all its values at once");
            }
            double points =
                    axes.stream().mapToDouble(axis -> axis.values.size()).reduce(1, (a, b) -> a * b);
            if (points > LARGEST) {
                throw new Refusal("--grid has %.0f points; at most %,d can be trained".formatted(points, LARGEST));
            }
            return new Grid(axes);
        }

        /** All points, as settings; the last axis runs fastest. */
        public List<List<String>> points() {
            Stream<List<String>> points = Stream.of(List.of());
            for (Axis axis : axes) {
                points = points.flatMap(point -> axis.values.stream()
                        .map(value -> Stream.concat(point.stream(), Stream.of(axis.key + "=" + value))
                                .toList()));
            }
            return points.toList();
        }
    }
}
