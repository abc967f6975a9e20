package hypertransfer.lab.predict;

import hypertransfer.core.Refusal;
import hypertransfer.core.Space;
import hypertransfer.lab.command.option.Csv;
import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.command.option.Options;
import hypertransfer.lab.experiment.Experiment;
import hypertransfer.lab.terminal.StepLine;
import hypertransfer.lab.terminal.Table;
import hypertransfer.prediction.Equilibrium;
import hypertransfer.prediction.Fitted;
import hypertransfer.prediction.Prediction;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.Matrices;
import hypertransfer.train.log.Run;
import hypertransfer.train.optimizer.Directions;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
        name = "predict",
        description = "Predicts norms and effective rates of every kind of hidden matrix, before the run is trained.",
        footer = {
            "  ht predict runs/muon.yaml",
            "  ht predict runs/muon.yaml --set network=M2 --set matrices.final_ratio=0.1",
            "  ht predict runs/muon.yaml --csv out/predicted.csv   one line per step and kind",
            "  ht predict out/muon            a finished run: the prediction and its error",
            "",
            "end/peak is the last effective rate divided by the largest. at rest is the",
            "effective rate that a long run at the peak rate would settle at. docs/IDEA.md",
            "has the formulas."
        })
public final class PredictCommand implements Runnable {
    @Parameters(paramLabel = "CONFIG", description = "A configuration, or the directory of a run.")
    private Path file;

    @Mixin
    private Options.Settings set;

    @Mixin
    private JsonOption json;

    @Option(names = "--csv", paramLabel = "FILE", description = "A new file: step, kind, nominal, norm, effective.")
    private Path csv;

    record Row(
            String kind,
            int rows,
            int cols,
            int count,
            double startNorm,
            double endNorm,
            double peakEffective,
            int peakStep,
            double endEffective,
            double endToPeak,
            Double restEffective,
            Double restNorm,
            Double stepsToRest) {}

    record Answer(
            String optimizer,
            int steps,
            List<Row> kinds,
            double meanEndToPeak,
            Fitted.Error nearest,
            Measured measured) {}

    @Override
    public void run() {
        boolean isRun = Files.isDirectory(file);
        if (isRun && !set.settings.isEmpty()) {
            throw new Refusal("--set changes a configuration, and " + file
                    + " is a run; give its config.yaml instead, or omit --set");
        }
        new Run(file).tellChanges(json::warn);
        Configuration c = isRun ? new Run(file).configuration() : Experiment.configuration(file, set.settings);
        List<PredictedKind> kinds = PredictedKind.of(c);
        List<Row> rows = kinds.stream().map(PredictCommand::row).toList();
        double mean = rows.stream().mapToDouble(r -> r.endToPeak * r.count).sum()
                / rows.stream().mapToInt(Row::count).sum();
        Optional<Measured> measured = isRun ? Measured.of(file, kinds, json::warn) : Optional.empty();
        Fitted.Error nearest = nearest(c);
        if (csv != null) {
            write(kinds);
        }
        Answer answer = new Answer(PredictedKind.describe(c), c.steps(), rows, mean, nearest, measured.orElse(null));
        json.either(answer, out -> {
            print(out, c, rows, mean);
            out.println(measured.map(Measured::text)
                    .or(() -> told(c))
                    .orElse("a Hyperball sets norms and effective rates: nothing here is an estimate"));
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

    private static Row row(PredictedKind kind) {
        Prediction target = kind.target();
        int last = target.steps() - 1;
        Equilibrium rest = null;
        Double steps = null;
        double rate = kind.schedule().peak();
        if (kind.settings().transfer().target() instanceof Space.Base(double decay) && decay > 0 && rate > 0) {
            rest = Equilibrium.of(kind.expected(), rate, decay);
            steps = Equilibrium.steps(rate, decay, 0.05);
        }
        return new Row(
                kind.name(),
                kind.matrices().getFirst().rows(),
                kind.matrices().getFirst().cols(),
                kind.matrices().size(),
                kind.expected().norm(),
                kind.carrier().norm()[last],
                target.peak(),
                target.peakStep(),
                target.effective()[last],
                target.finalToPeak(),
                rest == null ? null : rest.effective(),
                rest == null ? null : rest.norm(),
                steps);
    }

    private static void print(PrintWriter out, Configuration c, List<Row> rows, double mean) {
        String mode = c.matrices().mode().label();
        out.println(PredictedKind.describe(c) + ", mode " + mode + ", "
                + StepLine.count(c.model().layers(), "layer") + ", " + StepLine.count(c.steps(), "step"));
        new Table<Row>()
                .column("kind", "%s", Row::kind)
                .column("shape", "%11s", r -> r.rows + " x " + r.cols)
                .column("norm", "%8.3f", Row::startNorm)
                .column("at end", "%8.3f", Row::endNorm)
                .column("peak eff.", "%.5f", Row::peakEffective)
                .column("step", "%5d", Row::peakStep)
                .column("end eff.", "%9.3g", Row::endEffective)
                .column("end/peak", "%.4f", Row::endToPeak)
                .column("at rest", "%8.5f", Row::restEffective)
                .print(out, rows);
        // a linear schedule reaches its final ratio one step after the last
        double peak = c.matrices().rate(),
                last = c.matrices().schedule(c.steps()).rate(c.steps() - 1);
        out.printf("mean end/peak %.4f; the schedule's own %.4f%n", mean, peak == 0 ? 0 : last / peak);
        Double steps = rows.getFirst().stepsToRest;
        if (steps != null) {
            out.printf("at the peak rate the norm is at rest within 5 %% after %.0f steps%n", steps);
        }
    }

    private static Fitted.Error nearest(Configuration c) {
        boolean adam = c.matrices().direction() == Directions.ADAM;
        return Fitted.nearest(adam, c.network().name(), c.model().width(), c.steps());
    }

    /** Of the configurations that have something to estimate, the error that was measured on the run most like each; the largest. */
    static Optional<Fitted.Error> error(Configuration... all) {
        return estimated(all).map(PredictCommand::nearest).max(Comparator.comparingDouble(Fitted.Error::effective));
    }

    private static Stream<Configuration> estimated(Configuration... all) {
        return Stream.of(all)
                .filter(c -> !c.hidden().values().stream()
                        .map(Matrices::transfer)
                        .allMatch(transfer -> transfer.isPlain() && transfer.target() instanceof Space.Hyperball));
    }

    /** The error in words. */
    static Optional<String> told(Configuration... all) {
        boolean far = estimated(all)
                .anyMatch(c -> nearest(c).distance(c.network().name(), c.model().width(), c.steps()) > 2);
        return error(all)
                .map(near ->
                        "the prediction's own error, measured (rms): effective rate %.0f %%, norm at the end %.0f %% (%s, %s, width %d, %d steps)"
                                        .formatted(
                                                100 * near.effective(),
                                                100 * near.endNorm(),
                                                near.optimizer(),
                                                near.network(),
                                                near.width(),
                                                near.steps())
                                + (far ? "; no run like this one was measured, so expect more" : ""));
    }

    private void write(List<PredictedKind> kinds) {
        Csv.write(csv, "step,kind,nominal,norm,effective,target_norm", table -> {
            for (PredictedKind kind : kinds) {
                Prediction p = kind.carrier(), target = kind.target();
                for (int t = 0; t < p.steps(); t++) {
                    table.row(t, kind.name(), p.nominal()[t], p.norm()[t], p.effective()[t], target.norm()[t]);
                }
            }
        });
    }
}
