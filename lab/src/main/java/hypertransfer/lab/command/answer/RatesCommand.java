package hypertransfer.lab.command.answer;

import hypertransfer.core.Prediction;
import hypertransfer.core.Refusal;
import hypertransfer.core.Schedule.Shaped;
import hypertransfer.core.Space;
import hypertransfer.core.Translation;
import hypertransfer.lab.answer.Csv;
import hypertransfer.lab.answer.Kind;
import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.command.option.SetOption;
import hypertransfer.lab.terminal.Exit;
import hypertransfer.lab.terminal.Width;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code ht rates}: tuned hyperparameters for another optimizer, without a run. */
@Command(
        name = "rates",
        description =
                "Carries tuned rates of hidden matrices to another optimizer, weight decay, shape factor or width.",
        footer = {
            "",
            "Examples:",
            "  ht rates runs/muon.yaml --to muonh              peak angle and final ratio",
            "  ht rates runs/muonh.yaml --to muon --with matrices.decay=0.1",
            "  ht rates runs/muon.yaml --with matrices.decay=0.3     the same curve",
            "  ht rates runs/muon.yaml --to adamw",
            "  ht rates runs/muon.yaml --with model.width=256",
            "  ht rates runs/muon.yaml --ends 0.1    the ratio to end at an effective tenth",
            "",
            "error: of the effective rates that one pair of numbers gives instead of a",
            "schedule of its own for every matrix and step (--csv writes these), rms. It adds",
            "to the error of the prediction itself, see 'ht predict'."
        })
public final class RatesCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec;

    @Parameters(paramLabel = "CONFIG", description = "The configuration with the tuned rates.")
    private Path file;

    @Mixin
    private SetOption set;

    @Option(names = "--to", paramLabel = "OPTIMIZER", description = "muon, muonh, adamw or adamh.")
    private String to;

    @Option(
            names = "--with",
            paramLabel = "KEY=VALUE",
            description = "A key of the configuration that is different there; may be repeated.")
    private List<String> with = List.of();

    @Option(
            names = "--ends",
            paramLabel = "PART",
            description = "Print the nominal final ratio that ends at this part of the peak effective rate.")
    private Double ends;

    @Mixin
    private JsonOption json;

    @Option(names = "--csv", paramLabel = "FILE", description = "A new file: step, kind, rate, effective.")
    private Path csv;

    /** One kind's answer. */
    record Row(String kind, double effectivePeak, double endToPeak, double rate, double finalRatio, double error) {}

    /** The JSON line. */
    record Answer(
            String from,
            String to,
            double rate,
            double finalRatio,
            double error,
            List<Row> kinds,
            Double endsNominal) {}

    @Override
    public Integer call() {
        Configuration from = ConfigurationFile.read(file, set.settings);
        if (to == null && with.isEmpty() && ends == null) {
            throw new Refusal(
                    "nothing to carry the rates to; give --to muonh, --with matrices.decay=0.3 or --ends 0.1");
        }
        Kind.requireOne(from);
        Configuration other = ConfigurationFile.with(from, settings().toArray(String[]::new));
        PrintWriter out = Width.folded(spec.commandLine().getOut());
        if (to == null && with.isEmpty()) {
            reverse(out, from);
        } else {
            translate(out, from, other);
        }
        out.flush();
        return Exit.FINE;
    }

    private List<String> settings() {
        List<String> settings = new ArrayList<>();
        if (to != null) {
            settings.addAll(
                    switch (to.toLowerCase(Locale.ROOT)) {
                        case "muon" -> List.of("matrices.direction=muon", "matrices.mode=base");
                        case "muonh" -> List.of("matrices.direction=muon", "matrices.mode=hyperball");
                        case "adamw" -> List.of("matrices.direction=adam", "matrices.mode=base");
                        case "adamh" -> List.of("matrices.direction=adam", "matrices.mode=hyperball");
                        default ->
                            throw new Refusal(
                                    "unknown optimizer '" + to + "'; the optimizers are muon, muonh, adamw, adamh");
                    });
        }
        settings.addAll(with);
        return settings;
    }

    private void translate(PrintWriter out, Configuration from, Configuration other) {
        List<Kind> kinds = Kind.of(from);
        List<Kind> others = Kind.of(other);
        Space source = from.algorithm().common().transfer().target();
        Space goal = other.algorithm().common().transfer().target();
        Shaped tuned = Kind.schedule(from);
        List<Translation.Matrix> matrices = new ArrayList<>();
        List<Row> rows = new ArrayList<>();
        for (int i = 0; i < kinds.size(); i++) {
            Kind kind = kinds.get(i);
            var matrix = new Translation.Matrix(kind.expected(), others.get(i).expected(), kind.count());
            matrices.add(matrix);
            Translation.Pair own = Translation.pair(List.of(matrix), source, tuned, goal);
            Prediction p = kind.target();
            rows.add(new Row(
                    kind.name(),
                    p.peak(),
                    p.finalToPeak(),
                    own.schedule().peak(),
                    own.schedule().finalRatio(),
                    own.error()));
        }
        Translation.Pair all = Translation.pair(matrices, source, tuned, goal);
        if (csv != null) {
            write(matrices, kinds, source, tuned, goal);
        }
        if (!json.only) {
            out.printf(
                    Locale.ROOT,
                    "from %s: rate %s, final ratio %s, %s, %d steps%n",
                    Kind.describe(from),
                    tuned.peak(),
                    tuned.finalRatio(),
                    from.matrices().fall().schedule(),
                    tuned.steps());
            out.println("to   " + Kind.describe(other));
            out.printf(
                    "%-5s %10s %9s   %10s %11s %8s%n", "kind", "peak eff.", "end/peak", "rate", "final ratio", "error");
            rows.forEach(r -> out.printf(
                    Locale.ROOT,
                    "%-5s %10.5f %9.4f   %10.5f %11.4f %7.1f%%%n",
                    r.kind,
                    r.effectivePeak,
                    r.endToPeak,
                    r.rate,
                    r.finalRatio,
                    100 * r.error));
            out.printf(
                    Locale.ROOT,
                    "%-5s %10s %9s   %10.5f %11.4f %7.1f%%%n",
                    "all",
                    "",
                    "",
                    all.schedule().peak(),
                    all.schedule().finalRatio(),
                    100 * all.error());
            if (from.matrices().update().direction()
                    != other.matrices().update().direction()) {
                out.println(
                        "another direction at the same effective rates: a place to start a search, not a tuned rate");
            }
            out.println("next: ht train " + file + next(all));
            if (csv != null) {
                out.println("a rate for every step and kind is in " + csv);
            }
        }
        json.line(
                spec.commandLine().getOut(),
                new Answer(
                        Kind.describe(from),
                        Kind.describe(other),
                        all.schedule().peak(),
                        all.schedule().finalRatio(),
                        all.error(),
                        rows,
                        null));
    }

    /** The settings of a run with the translated rates. */
    private String next(Translation.Pair pair) {
        StringBuilder text = new StringBuilder();
        set.settings.forEach(s -> text.append(" --set ").append(s));
        settings().forEach(s -> text.append(" --set ").append(s));
        text.append(String.format(
                Locale.ROOT,
                " --set matrices.rate=%.4g --set matrices.final_ratio=%.4f",
                pair.schedule().peak(),
                pair.schedule().finalRatio()));
        return text.toString();
    }

    private void reverse(PrintWriter out, Configuration from) {
        if (!(from.algorithm().common().transfer().target() instanceof Space.Base(double decay))) {
            throw new Refusal(
                    "on a Hyperball the nominal schedule is the effective one: set matrices.final_ratio=" + ends);
        }
        Shaped schedule = Kind.schedule(from);
        List<Row> rows = new ArrayList<>();
        double sum = 0;
        int count = 0;
        for (Kind kind : Kind.of(from)) {
            double ratio = Translation.finalRatio(kind.expected(), decay, schedule, ends);
            Prediction p = kind.target();
            rows.add(new Row(kind.name(), p.peak(), p.finalToPeak(), schedule.peak(), ratio, 0));
            sum += ratio * kind.count();
            count += kind.count();
        }
        if (!json.only) {
            out.println(Kind.describe(from) + ": the final ratio that ends at an effective " + ends);
            out.printf("%-5s %12s %12s%n", "kind", "end/peak now", "final ratio");
            rows.forEach(r -> out.printf(Locale.ROOT, "%-5s %12.4f %12.4f%n", r.kind, r.endToPeak, r.finalRatio));
            out.printf(Locale.ROOT, "%-5s %12s %12.4f%n", "all", "", sum / count);
        }
        json.line(
                spec.commandLine().getOut(),
                new Answer(Kind.describe(from), Kind.describe(from), schedule.peak(), sum / count, 0, rows, ends));
    }

    private void write(List<Translation.Matrix> matrices, List<Kind> kinds, Space source, Shaped tuned, Space goal) {
        Consumer<Csv> rows = table -> {
            for (int i = 0; i < kinds.size(); i++) {
                Prediction induced = Translation.induced(matrices.get(i), source, tuned, goal);
                double[] rate = induced.nominal();
                double[] effective = induced.effective();
                for (int t = 0; t < rate.length; t++) {
                    table.row(t, kinds.get(i).name(), rate[t], effective[t]);
                }
            }
        };
        Csv.write(csv, rows, "step", "kind", "rate", "effective");
    }
}
