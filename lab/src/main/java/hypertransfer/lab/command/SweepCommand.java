package hypertransfer.lab.command;

import hypertransfer.core.Diverged;
import hypertransfer.core.Refusal;
import hypertransfer.lab.experiment.Launch;
import hypertransfer.lab.terminal.Exit;
import hypertransfer.lab.terminal.Interrupt;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.file.Atomic;
import hypertransfer.train.log.Reason;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.Standing;
import hypertransfer.train.log.Standing.State;
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
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code ht sweep}: a configuration over a grid, the best by validation loss. */
@Command(
        name = "sweep",
        description = "Trains a configuration at every point of a grid and chooses the best by validation loss.",
        footer = {
            "",
            "Examples:",
            "  ht sweep runs/muon.yaml --grid rate=0.01,0.02,0.04 --grid adam_rate=0.005,0.01",
            "  ht sweep runs/muon.yaml --grid matrices.decay=0,0.1 --set steps=200 --out out/decays",
            "",
            "rate and adam_rate are short for matrices.rate and adamw.rate. Interrupted, it goes on where it was."
        })
public final class SweepCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec;

    @Parameters(paramLabel = "FILE", description = "A configuration.")
    private Path file;

    @Option(names = "--grid", required = true, paramLabel = "KEY=V,V,...", description = "The values of a key.")
    private List<String> grid;

    @Option(names = "--set", paramLabel = "KEY=VALUE", description = "Overrides a key of the configuration.")
    private List<String> settings = List.of();

    @Option(names = "--out", paramLabel = "DIR", description = "Where the runs go (default: out/FILE-sweep).")
    private Path out;

    private record Axis(String key, List<String> values) {
        static Axis parse(String text) {
            int equals = text.indexOf('=');
            if (equals <= 0 || equals == text.length() - 1) {
                throw new Refusal("--grid takes key=value,value,...; it was given '" + text + "'");
            }
            String key = text.substring(0, equals);
            String whole = key.equals("rate") ? "matrices.rate" : key.equals("adam_rate") ? "adamw.rate" : key;
            List<String> values = Arrays.asList(text.substring(equals + 1).split(","));
            return new Axis(whole, values);
        }
    }

    private record Point(List<String> settings, double validation) {}

    @Override
    public Integer call() {
        PrintWriter print = spec.commandLine().getOut();
        List<Axis> axes = grid.stream().map(Axis::parse).toList();
        String name = file.getFileName().toString().replaceFirst("\\.ya?ml$", "");
        Path to = out == null ? Path.of("out", name + "-sweep") : out;
        List<List<String>> points = points(axes);
        points.forEach(this::configuration); // every point is known to be good before the first is trained
        List<Point> done = new ArrayList<>();
        try (Interrupt interrupt = new Interrupt()) {
            for (List<String> point : points) {
                Path run = to.resolve(String.join("_", point).replaceAll("[^A-Za-z0-9._=-]", "-"));
                print.println("point " + (done.size() + 1) + " of " + points.size() + ": " + String.join(" ", point));
                boolean resume = new Run(run).begun();
                done.add(new Point(point, train(run, configuration(point), resume, interrupt, print)));
                if (interrupt.getAsBoolean()) {
                    return Exit.INTERRUPTED;
                }
            }
        }
        show(axes, done, to, print);
        return Exit.FINE;
    }

    private Configuration configuration(List<String> point) {
        List<String> all = new ArrayList<>(settings);
        all.addAll(point);
        return ConfigurationFile.read(file, all);
    }

    /** The final validation loss; infinite where the run diverged, which is a result too. */
    private static double train(Path run, Configuration c, boolean resume, Interrupt stop, PrintWriter print) {
        if (resume) {
            Launch.same(run, c);
        }
        if (!done(run)) {
            try {
                new Launch(run, c, resume, true, print).run(stop);
            } catch (Diverged diverged) {
                print.println(diverged.getMessage());
            }
        }
        Standing now = new Run(run).standing();
        return now.state() == State.FINISHED ? now.validation() : Double.POSITIVE_INFINITY;
    }

    /** Whether there is a result: a finished run, or one that diverged. Every other failure is tried again. */
    private static boolean done(Path run) {
        Standing now = new Run(run).standing();
        return now.state() == State.FINISHED || now.reason() == Reason.DIVERGED;
    }

    private static List<List<String>> points(List<Axis> axes) {
        List<List<String>> points = List.of(List.of());
        for (Axis axis : axes) {
            List<List<String>> longer = new ArrayList<>();
            for (List<String> point : points) {
                for (String value : axis.values) {
                    List<String> extended = new ArrayList<>(point);
                    extended.add(axis.key + "=" + value);
                    longer.add(extended);
                }
            }
            points = longer;
        }
        return points;
    }

    private static void show(List<Axis> axes, List<Point> points, Path to, PrintWriter print) {
        Point best = points.stream()
                .min((a, b) -> Double.compare(a.validation, b.validation))
                .orElseThrow();
        ArrayNode all = JsonMapper.shared().createArrayNode();
        print.println();
        if (axes.size() == 2) {
            heatMap(axes.get(0), axes.get(1), points, best, print);
        }
        for (Point point : points) {
            if (axes.size() != 2) {
                print.printf(
                        Locale.ROOT, "%10.5f%s %s%n", point.validation, point == best ? " *" : "  ", point.settings);
            }
            ObjectNode node = all.addObject();
            point.settings.forEach(
                    s -> node.put(s.substring(0, s.indexOf('=')), Double.valueOf(s.substring(s.indexOf('=') + 1))));
            if (Double.isFinite(point.validation)) {
                node.put("validation", point.validation);
            } else {
                node.putNull("validation");
            }
        }
        Atomic.write(to.resolve("sweep.json"), all.toString());
        print.printf(Locale.ROOT, "best %.5f with %s%n", best.validation, String.join(" ", best.settings));
        print.flush();
    }

    /** Rows and columns of validation losses, darker where they are lower. */
    private static void heatMap(Axis rows, Axis columns, List<Point> points, Point best, PrintWriter print) {
        double worst = points.stream()
                .mapToDouble(Point::validation)
                .filter(Double::isFinite)
                .max()
                .orElse(best.validation);
        print.printf("%s down, %s across; * is the best%n%10s", rows.key, columns.key, "");
        columns.values.forEach(value -> print.printf("%12s", value));
        print.println();
        for (int i = 0; i < rows.values.size(); i++) {
            print.printf("%10s", rows.values.get(i));
            for (int j = 0; j < columns.values.size(); j++) {
                Point point = points.get(i * columns.values.size() + j);
                double height = (worst - point.validation) / Math.max(1e-12, worst - best.validation);
                String shade =
                        " ░▒▓█".substring((int) Math.clamp(4 * height, 0, 4)).substring(0, 1);
                print.printf(Locale.ROOT, "%9.5f%s%s ", point.validation, shade, point == best ? "*" : " ");
            }
            print.println();
        }
    }
}
