package hypertransfer.lab.command.answer;

import hypertransfer.core.Refusal;
import hypertransfer.core.Schedule.Shaped;
import hypertransfer.core.Space;
import hypertransfer.core.prediction.Prediction;
import hypertransfer.core.prediction.Translation;
import hypertransfer.lab.answer.Carried;
import hypertransfer.lab.answer.Csv;
import hypertransfer.lab.answer.Kind;
import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.command.option.SetOption;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;
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
            "  ht rates runs/muon.yaml --ends 0.1    the ratio to end at an effective tenth",
            "",
            "error: of the effective rates that one pair of numbers gives instead of a",
            "schedule of its own for every matrix and step (--csv writes these), rms. It adds",
            "to the error of the prediction itself, see 'ht predict'. Matrices that",
            "matrices.groups treats differently have a pair of their own.",
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
            List<Group> groups,
            Double endsNominal) {}

    @Override
    public void run() {
        Configuration from = ConfigurationFile.read(file, set.settings);
        if (to == null && with.isEmpty() && ends == null) {
            throw new Refusal(
                    "nothing to carry the rates to; give --to muonh, --with matrices.decay=0.3 or --ends 0.1");
        }
        Configuration other = ConfigurationFile.with(from, settings().toArray(String[]::new));
        if (to == null && with.isEmpty()) {
            reverse(from);
        } else {
            translate(from, other);
        }
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
        if (csv != null) {
            write(answers);
        }
        Group pair = one ? groups.getFirst() : null;
        Answer answer = new Answer(
                Kind.describe(from),
                Kind.describe(other),
                one ? pair.rate : null,
                one ? pair.finalRatio : null,
                one ? pair.error : null,
                rows,
                groups,
                null);
        json.both(answer, out -> {
            print(out, from, other, rows, groups);
            StringBuilder next = new StringBuilder("next: ht train " + file);
            set.settings.forEach(s -> next.append(" --set ").append(quoted(s)));
            settings().forEach(s -> next.append(" --set ").append(quoted(s)));
            answers.forEach(carried ->
                    carried.settings().forEach(s -> next.append(" --set ").append(quoted(s))));
            out.println(next);
            if (csv != null) {
                out.println("a rate for every step and kind is in " + csv);
            }
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
        Shaped tuned = from.algorithm().common().schedule();
        out.printf(
                Locale.ROOT,
                "from %s: rate %s, final ratio %s, %s, %d steps%n",
                Kind.describe(from),
                tuned.peak(),
                tuned.finalRatio(),
                from.matrices().fall().schedule(),
                tuned.steps());
        out.println("to   " + Kind.describe(other));
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
        if (from.matrices().update().direction() != other.matrices().update().direction()) {
            out.println("another direction at the same effective rates: a place to start a search, not a tuned rate");
        }
    }

    private void reverse(Configuration from) {
        List<Kind> kinds = Kind.of(from);
        if (kinds.stream().allMatch(kind -> kind.course().transfer().target() instanceof Space.Hyperball)) {
            throw new Refusal(
                    "on a Hyperball the nominal schedule is the effective one: set matrices.final_ratio=" + ends);
        }
        List<Row> rows = new ArrayList<>();
        double sum = 0;
        int count = 0;
        for (Kind kind : kinds) {
            Shaped schedule = kind.course().schedule();
            double ratio = kind.course().transfer().target() instanceof Space.Base(double decay)
                    ? Translation.finalRatio(kind.expected(), decay, schedule, ends)
                    : ends;
            Prediction p = kind.target();
            rows.add(new Row(kind.name(), p.peak(), p.finalToPeak(), schedule.peak(), ratio, 0));
            sum += ratio * kind.count();
            count += kind.count();
        }
        boolean one = from.matrices().groups().isEmpty();
        String described = Kind.describe(from);
        double rate = from.algorithm().common().schedule().peak(), mean = sum / count;
        Answer answer = new Answer(
                described, described, one ? rate : null, one ? mean : null, one ? 0.0 : null, rows, List.of(), ends);
        json.both(answer, out -> {
            out.println(described + ": the final ratio that ends at an effective " + ends);
            out.printf("%-12s %12s %12s%n", "kind", "end/peak now", "final ratio");
            rows.forEach(r -> out.printf(Locale.ROOT, "%-12s %12.4f %12.4f%n", r.kind, r.endToPeak, r.finalRatio));
            if (one) {
                out.printf(Locale.ROOT, "%-12s %12s %12.4f%n", "all", "", mean);
            }
        });
    }

    private void write(List<Carried> answers) {
        Consumer<Csv> rows = table -> answers.forEach(carried -> carried.kinds().forEach(part -> {
            Prediction induced = part.induced();
            double[] rate = induced.nominal();
            double[] effective = induced.effective();
            for (int t = 0; t < rate.length; t++) {
                table.row(t, part.name(), rate[t], effective[t]);
            }
        }));
        Csv.write(csv, "step,kind,rate,effective", rows);
    }
}
