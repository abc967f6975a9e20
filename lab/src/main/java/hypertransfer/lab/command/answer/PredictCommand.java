package hypertransfer.lab.command.answer;

import hypertransfer.core.Refusal;
import hypertransfer.core.Space;
import hypertransfer.core.prediction.Equilibrium;
import hypertransfer.core.prediction.Prediction;
import hypertransfer.lab.answer.Accuracy;
import hypertransfer.lab.answer.Csv;
import hypertransfer.lab.answer.Kind;
import hypertransfer.lab.answer.Measured;
import hypertransfer.lab.answer.Sheet;
import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.command.option.SetOption;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.log.Run;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code ht predict}: norms and effective rates of a run, before it. */
@Command(
        name = "predict",
        description = "Predicts norm and effective rate of every kind of hidden matrix over a whole run, without it.",
        footer = {
            "  ht predict runs/muon.yaml",
            "  ht predict runs/muon.yaml --set network=M2 --set matrices.final_ratio=0.1",
            "  ht predict runs/muon.yaml --csv out/predicted.csv   a line per step and kind",
            "  ht predict out/muon            a finished run: the prediction and its error",
            "",
            "end/peak is the last effective rate over the largest. at rest: the effective",
            "rate that a long run at the peak rate would settle at. docs/IDEA.md has the",
            "formulas."
        })
public final class PredictCommand implements Runnable {
    @Parameters(paramLabel = "CONFIG", description = "A configuration, or the directory of a run.")
    private Path file;

    @Mixin
    private SetOption set;

    @Mixin
    private JsonOption json;

    @Option(names = "--csv", paramLabel = "FILE", description = "A new file: step, kind, nominal, norm, effective.")
    private Path csv;

    @Option(names = "--page", paramLabel = "FILE", description = "A new .html page with the curves.")
    private Path page;

    /** One row of the table, and of the JSON line. */
    record Row(
            String kind,
            int rows,
            int cols,
            int count,
            double startNorm,
            double endNorm,
            double targetEndNorm,
            double peakEffective,
            int peakStep,
            double endEffective,
            double endToPeak,
            Double restEffective,
            Double restNorm,
            Double stepsToRest) {}

    /** The JSON line. */
    record Answer(
            String optimizer, int steps, List<Row> kinds, double meanEndToPeak, Accuracy nearest, Measured measured) {}

    @Override
    public void run() {
        boolean isRun = Files.isDirectory(file);
        if (isRun && !set.settings.isEmpty()) {
            throw new Refusal("--set changes a configuration, and " + file
                    + " is a run; give its config.yaml instead, or leave --set away");
        }
        Configuration c = isRun ? new Run(file).configuration() : ConfigurationFile.read(file, set.settings);
        List<Kind> kinds = Kind.of(c);
        List<Row> rows = kinds.stream().map(PredictCommand::row).toList();
        int matrices = rows.stream().mapToInt(Row::count).sum();
        double mean = rows.stream().mapToDouble(r -> r.endToPeak * r.count).sum() / matrices;
        Optional<Measured> measured = isRun ? Measured.of(file, c, kinds, json::warn) : Optional.empty();
        Accuracy nearest = Accuracy.nearest(c);
        String error = measured.map(PredictCommand::text).orElseGet(() -> nearest.text(c));
        if (csv != null) {
            write(kinds, c);
        }
        if (page != null) {
            draw(kinds, c, rows, error);
        }
        Answer answer = new Answer(Kind.describe(c), c.steps(), rows, mean, nearest, measured.orElse(null));
        json.both(answer, out -> {
            print(out, c, rows, mean);
            out.println(error);
            if (c.tokensPerStep() < 4L * c.model().width()) {
                out.println("note: " + c.tokensPerStep() + " tokens per step are few for width "
                        + c.model().width()
                        + ": gradients of low rank make |u| smaller than expected, and the effective rate is"
                        + " predicted too high (by a third at 256 tokens and width 256)");
            }
            if (csv != null) {
                out.println("every step is in " + csv);
            }
        });
    }

    private static Row row(Kind kind) {
        Prediction target = kind.target();
        Prediction carrier = kind.carrier();
        int last = target.steps() - 1;
        Optional<Equilibrium> rest = Optional.empty();
        Double steps = null;
        double rate = kind.course().schedule().peak();
        if (kind.course().transfer().target() instanceof Space.Base(double decay) && decay > 0 && rate > 0) {
            rest = Optional.of(Equilibrium.of(kind.expected(), rate, decay));
            steps = Equilibrium.steps(rate, decay, 0.05);
        }
        return new Row(
                kind.name(),
                kind.rows(),
                kind.cols(),
                kind.count(),
                kind.expected().norm(),
                carrier.norm()[last],
                target.norm()[last],
                target.peak(),
                target.peakStep(),
                target.effective()[last],
                target.finalToPeak(),
                rest.map(Equilibrium::effective).orElse(null),
                rest.map(Equilibrium::norm).orElse(null),
                steps);
    }

    private static void print(PrintWriter out, Configuration c, List<Row> rows, double mean) {
        out.printf(
                "%s, mode %s, %d layers, %d steps%n",
                Kind.describe(c), c.matrices().mode().label(), c.model().layers(), c.steps());
        out.printf(
                "%-5s %11s %8s %8s %9s %5s %9s %8s %8s%n",
                "kind", "shape", "norm", "at end", "peak eff.", "step", "end eff.", "end/peak", "at rest");
        for (Row r : rows) {
            out.printf(
                    Locale.ROOT,
                    "%-5s %11s %8.3f %8.3f %9.5f %5d %9.3g %8.4f %8s%n",
                    r.kind,
                    r.rows + " x " + r.cols,
                    r.startNorm,
                    r.endNorm,
                    r.peakEffective,
                    r.peakStep,
                    r.endEffective,
                    r.endToPeak,
                    text("%.5f", r.restEffective));
        }
        out.printf(Locale.ROOT, "mean end/peak %.4f; the schedule's own %.4f%n", mean, own(c));
        Double steps = rows.getFirst().stepsToRest;
        if (steps != null) {
            out.printf(Locale.ROOT, "at the peak rate the norm is at rest within 5 %% after %.0f steps%n", steps);
        }
    }

    private static String text(String format, Double number) {
        return number == null ? "-" : String.format(Locale.ROOT, format, number);
    }

    /** The last nominal rate over the peak: a linear schedule reaches its final ratio one step after the last. */
    private static double own(Configuration c) {
        double peak = c.matrices().rate();
        return peak == 0 ? 0 : c.algorithm().common().schedule().rate(c.steps() - 1) / peak;
    }

    private static String text(Measured error) {
        return String.format(
                Locale.ROOT,
                "this run against its prediction: effective rate %.1f %% rms over %d steps and %d matrices, norm at the"
                        + " end %.1f %%, end/peak %.4f (predicted %.4f)",
                100 * error.effective(),
                error.steps(),
                error.matrices(),
                100 * error.endNorm(),
                error.endToPeak(),
                error.predictedEndToPeak());
    }

    private void draw(List<Kind> kinds, Configuration c, List<Row> rows, String error) {
        List<Sheet.Line> effective = new ArrayList<>();
        List<Sheet.Line> norms = new ArrayList<>();
        double[] steps = IntStream.range(0, c.steps()).asDoubleStream().toArray();
        for (Kind kind : kinds) {
            Prediction carrier = kind.carrier();
            effective.add(new Sheet.Line(kind.name(), steps, carrier.effective()));
            norms.add(new Sheet.Line(kind.name(), steps, carrier.norm()));
        }
        String head = "kind,shape,norm,at end,at rest,peak effective,step,end effective,end/peak,effective at rest";
        List<List<String>> table = new ArrayList<>(List.of(List.of(head.split(","))));
        rows.forEach(r -> table.add(List.of(
                r.kind,
                r.rows + " x " + r.cols,
                text("%.3f", r.startNorm),
                text("%.3f", r.endNorm),
                text("%.3f", r.restNorm),
                text("%.5f", r.peakEffective),
                "" + r.peakStep,
                text("%.3g", r.endEffective),
                text("%.4f", r.endToPeak),
                text("%.5f", r.restEffective))));
        List<Sheet.Chart> charts =
                List.of(new Sheet.Chart("Effective rate", true, effective), new Sheet.Chart("Norm", false, norms));
        List<String> notes = List.of(file + ", " + c.steps() + " steps", error);
        Sheet.write(page, "Predicted: " + Kind.describe(c), notes, charts, List.of(), table);
    }

    private void write(List<Kind> kinds, Configuration c) {
        Consumer<Csv> rows = table -> {
            for (Kind kind : kinds) {
                Prediction carrier = kind.carrier();
                double[] nominal = carrier.nominal();
                double[] norm = carrier.norm();
                double[] effective = carrier.effective();
                double[] target = kind.target().norm();
                for (int t = 0; t < nominal.length; t++) {
                    table.row(t, kind.name(), nominal[t], norm[t], effective[t], target[t]);
                }
            }
        };
        Csv.write(csv, "step,kind,nominal,norm,effective,target_norm", rows);
    }
}
