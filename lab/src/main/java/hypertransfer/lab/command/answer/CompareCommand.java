package hypertransfer.lab.command.answer;

import hypertransfer.lab.answer.Csv;
import hypertransfer.lab.answer.Sides;
import hypertransfer.lab.command.option.JsonOption;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code ht compare}: what differs between runs, and whether it is more than noise. */
@Command(
        name = "compare",
        description =
                "Compares runs: settings that differ, losses, the step where one overtakes, and with seeds a test.",
        footer = {
            "  ht compare out/muon out/muonh",
            "  ht compare out/exp1/seed-*/muon out/exp1/seed-*/muonh",
            "  ht compare out/muon out/muonh --json | tail -n 1",
            "",
            "Runs that differ only in their seed are one side. With two or more common",
            "seeds the mean difference has a 95 %% interval and p of a paired t-test: how",
            "often noise would give such a difference. The first side is the baseline."
        })
public final class CompareCommand implements Runnable {
    private static final double NOISE = 0.05;
    private static final String COLUMNS = "side,seeds,validation,best,loss,difference,low,high,p,largest,crossover";
    /** What the baseline is minus itself stays empty. */
    private static final Sides.Difference NONE =
            new Sides.Difference("", 0, Double.NaN, Double.NaN, null, null, null, null, null);

    @Parameters(paramLabel = "RUN", arity = "1..*", description = "Directories of runs, or with runs inside.")
    private List<Path> places;

    @Mixin
    private JsonOption json;

    @Option(
            names = "--csv",
            paramLabel = "FILE",
            description = "A new file: one row per side, with its difference to the first.")
    private Path csv;

    @Override
    public void run() {
        Sides c = Sides.of(places, json::warn);
        if (csv != null) {
            Csv.write(csv, COLUMNS, table -> c.sides().forEach(side -> row(table, c, side)));
        }
        json.both(c, out -> print(out, c));
    }

    private static void row(Csv table, Sides c, Sides.Side s) {
        Sides.Difference d = c.differences().stream()
                .filter(other -> other.name().equals(s.name()))
                .findFirst()
                .orElse(NONE);
        table.row(
                s.name(),
                s.seeds().size(),
                s.validation(),
                s.best(),
                s.loss(),
                d.mean(),
                d.low(),
                d.high(),
                d.p(),
                d.largest(),
                d.crossover());
    }

    private static void print(PrintWriter out, Sides c) {
        int width = c.sides().stream().mapToInt(s -> s.name().length()).max().orElse(4);
        String row = "%-" + Math.max(4, width) + "s %6s %12s %12s %12s%n";
        out.printf(row, "side", "seeds", "validation", "best", "training");
        c.sides()
                .forEach(s -> out.printf(
                        row, s.name(), s.seeds().size(), number(s.validation()), number(s.best()), number(s.loss())));
        c.differing().forEach((key, values) -> out.println(key + ": " + String.join(" | ", values)));
        String baseline = c.sides().getFirst().name();
        for (Sides.Difference d : c.differences()) {
            out.printf(
                    Locale.ROOT,
                    "%s - %s: %+.5f; largest difference of training losses %.2e; %s%n",
                    d.name(),
                    baseline,
                    d.mean(),
                    d.largest(),
                    d.crossover() == null
                            ? "neither overtakes the other"
                            : "the lead last changed by step " + d.crossover());
            if (d.p() == null) {
                out.println("  one common seed: whether this is noise cannot be told");
            } else {
                out.printf(
                        Locale.ROOT,
                        "  %d common seeds: 95 %% interval %+.5f to %+.5f, p = %.2g: %s%n",
                        d.pairs(),
                        d.low(),
                        d.high(),
                        d.p(),
                        d.p() < NOISE ? "more than noise" : "not told from noise");
            }
        }
    }

    private static String number(double value) {
        return String.format(Locale.ROOT, "%.5f", value);
    }
}
