package hypertransfer.lab.predict;

import hypertransfer.core.Refusal;
import hypertransfer.core.Schedule.Shaped;
import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.command.option.SetOption;
import hypertransfer.prediction.Prediction;
import hypertransfer.prediction.Translation;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code ht rates}: tuned hyperparameters for another optimizer, without a run. */
@Command(
        name = "rates",
        description =
                "Carries tuned rates of hidden matrices to another optimizer, weight decay, shape factor or width.",
        footer = {
            "  ht rates runs/muon.yaml --to muonh              peak angle and final ratio",
            "  ht rates runs/muonh.yaml --to muon --with matrices.decay=0.1",
            "  ht rates runs/muon.yaml --with matrices.decay=0.3     the same curve",
            "  ht rates runs/muon.yaml --to adamw",
            "  ht rates runs/muon.yaml --with model.width=256",
            "",
            "error: of the effective rates that one pair of numbers gives instead of a",
            "schedule of its own for every matrix and step, rms. It adds to the error of the",
            "prediction itself, see 'ht predict'. Matrices that matrices.groups treats",
            "differently have a pair of their own.",
            "",
            "Checked by training, Muon carried to MuonH: at preset demo it ended 0.002 above",
            "a MuonH tuned by a sweep, at 124M 0.064 above it, and 0.17 below its Muon",
            "(validation losses, one seed; notes/LOG.md)."
        })
public final class RatesCommand implements Runnable {
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

    @Mixin
    private JsonOption json;

    /** One kind's answer. */
    record Row(String kind, double effectivePeak, double endToPeak, double rate, double finalRatio, double error) {}

    /** One pair for matrices that are treated alike. */
    record Group(String pattern, double rate, double finalRatio, double error) {}

    /** The JSON line; without groups the pair is that of all matrices, with groups it is null and each has its own. */
    record Answer(
            String from,
            String to,
            Double rate,
            Double finalRatio,
            Double error,
            List<Row> kinds,
            List<Group> groups) {}

    @Override
    public void run() {
        Configuration from = ConfigurationFile.read(file, set.settings);
        if (to == null && with.isEmpty()) {
            throw new Refusal("nothing to carry the rates to; give --to muonh or --with matrices.decay=0.3");
        }
        translate(from, ConfigurationFile.with(from, settings().toArray(String[]::new)));
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

    private void translate(Configuration from, Configuration other) {
        List<Carried> answers = Carried.of(from, other);
        boolean one = answers.size() == 1;
        List<Row> rows = new ArrayList<>();
        List<Group> groups = new ArrayList<>();
        for (Carried carried : answers) {
            carried.kinds().forEach(part -> rows.add(row(part)));
            Shaped pair = carried.pair().schedule();
            String name = one ? "all" : carried.common() ? "rest" : carried.pattern();
            groups.add(new Group(
                    name, pair.peak(), pair.finalRatio(), carried.pair().error()));
        }
        Group pair = one ? groups.getFirst() : null;
        Answer answer = new Answer(
                PredictedKind.describe(from),
                PredictedKind.describe(other),
                one ? pair.rate : null,
                one ? pair.finalRatio : null,
                one ? pair.error : null,
                rows,
                groups);
        json.both(answer, out -> {
            print(out, from, other, rows, groups);
            StringBuilder next = new StringBuilder("next: ht train " + file);
            set.settings.forEach(s -> next.append(" --set ").append(quoted(s)));
            settings().forEach(s -> next.append(" --set ").append(quoted(s)));
            answers.forEach(carried ->
                    carried.settings().forEach(s -> next.append(" --set ").append(quoted(s))));
            out.println(next);
        });
    }

    private static Row row(Carried.Part part) {
        Translation.Pair own = part.own();
        Shaped pair = own.schedule();
        Prediction p = part.from().target();
        return new Row(part.name(), p.peak(), p.finalToPeak(), pair.peak(), pair.finalRatio(), own.error());
    }

    /** A pattern has signs that a shell would take for its own. */
    private static String quoted(String setting) {
        return setting.matches("[\\w.=+-]+") ? setting : "'" + setting + "'";
    }

    private static void print(
            PrintWriter out, Configuration from, Configuration other, List<Row> rows, List<Group> groups) {
        Shaped tuned = from.matrices().schedule(from.steps());
        out.printf(
                Locale.ROOT,
                "from %s: rate %s, final ratio %s, %s, %d steps%n",
                PredictedKind.describe(from),
                tuned.peak(),
                tuned.finalRatio(),
                from.matrices().curve().schedule().text(),
                tuned.steps());
        out.println("to   " + PredictedKind.describe(other));
        int wide =
                Math.max(5, rows.stream().mapToInt(r -> r.kind.length()).max().orElseThrow());
        String start = "%-" + wide + "s %10s %9s   ";
        out.printf(start + "%10s %11s %8s%n", "kind", "peak eff.", "end/peak", "rate", "final ratio", "error");
        rows.forEach(r -> out.printf(
                Locale.ROOT,
                "%-" + wide + "s %10.5f %9.4f   %10.5f %11.4f %7.1f%%%n",
                r.kind,
                r.effectivePeak,
                r.endToPeak,
                r.rate,
                r.finalRatio,
                100 * r.error));
        groups.forEach(g -> out.printf(
                Locale.ROOT,
                start + "%10.5f %11.4f %7.1f%%%s%n",
                groups.size() == 1 ? g.pattern : "pair",
                "",
                "",
                g.rate,
                g.finalRatio,
                100 * g.error,
                groups.size() == 1 ? "" : "  " + g.pattern));
        if (from.matrices().direction() != other.matrices().direction()) {
            out.println("another direction at the same effective rates: a place to start a search, not a tuned rate");
        }
    }
}
