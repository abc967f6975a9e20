package hypertransfer.lab.compare;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import hypertransfer.core.Refusal;
import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.experiment.Next;
import hypertransfer.lab.terminal.Exit;
import hypertransfer.lab.terminal.Table;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.Turning;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
        name = "compare",
        description =
                "Compares runs: settings that differ, losses, effective rates, with several seeds a test; on request tensors.",
        footer = {
            "  ht compare out/muon out/muonh",
            "  ht compare out/exp1/seed-*/muon out/exp1/seed-*/muonh",
            "  ht compare out/muon out/muonh --json",
            "  ht compare out/exp1 --below 1.5",
            "  ht compare out/muon-hypertransfer out/muon --tensors --at 100",
            "",
            "Among more than two runs, those that differ only in their seed form one side;",
            "the table shows its mean. The order, the result of a search and the warning",
            "about rates use the seeds that all sides have. Differences use common seeds; two",
            "or more give a 95 %% interval and p of a paired t-test: how often noise would",
            "give such a difference. The first side is the baseline; p of several tests is",
            "corrected by Holm's method. Rates are effective rates, means over matrices. Same",
            "time is only meaningful for runs that had a machine or card to themselves.",
            "--below: 0.004/sqrt(seeds) is the rule of modded-nanogpt's track 3, for a noise",
            "of 0.0013 between seeds at 124M; the interval uses the noise of your seeds. A",
            "run whose schedule ends later is not comparable to one that ends at that step.",
            "--tensors scales a carrier's matrix to the other's norm first; the exit code is",
            "1 if a loss differs."
        })
public final class CompareCommand implements Callable<Integer> {
    private static final double NOISE = 0.05;

    @Parameters(paramLabel = "RUN", arity = "1..*", description = "Directories of runs, or with runs inside.")
    private List<Path> places;

    @Option(
            names = "--baseline",
            paramLabel = "SIDE",
            description =
                    "The side that others are compared with: its name or a part of it, or one of its runs (default: the first).")
    private String baseline;

    @Option(
            names = "--below",
            paramLabel = "LOSS",
            description = "Also count the steps until the validation loss is below this one.")
    private Double below;

    @Mixin
    private JsonOption json;

    @Option(names = "--tensors", description = "Also compare every tensor of one checkpoint of two runs.")
    private boolean withTensors;

    @Option(
            names = "--at",
            paramLabel = "STEP",
            description = "The step of that checkpoint (default: the newest common one).")
    private Long step;

    /** @param step of the checkpoints whose tensors are compared; null without --tensors, like the next */
    private record Answer(@JsonUnwrapped Comparison comparison, Long step, List<TensorDifference> tensors) {}

    @Override
    public Integer call() {
        if (below != null && !(below > 0 && below < Double.POSITIVE_INFINITY)) {
            throw new Refusal("--below is " + below + "; it must be a loss, a number above zero");
        }
        Comparison c = Comparison.of(places, baseline, below, json::warn);
        boolean tensors = withTensors || step != null;
        if (tensors && places.size() != 2) {
            throw new Refusal("--tensors compares two runs; give only two, not " + places);
        }
        Run a = new Run(places.getFirst()), b = new Run(places.getLast());
        Long at = !tensors ? null : step == null ? (Long) TensorDifference.commonStep(a, b) : step;
        List<TensorDifference> rows = tensors ? TensorDifference.all(a, b, at) : null;
        json.either(new Answer(c, at, rows), out -> {
            print(out, c);
            if (below != null) {
                print(out, c, below);
            }
            if (tensors) {
                print(out, at, rows);
            }
        });
        boolean apart = c.differences().stream().anyMatch(d -> d.first() != null);
        return tensors && apart ? Exit.CHECK_FAILED : Exit.FINE;
    }

    static void print(PrintWriter out, Comparison c) {
        new Table<Comparison.Side>()
                .column("side", "%s", Comparison.Side::name)
                .column("seeds", "%6d", side -> side.seeds().size())
                .column("validation", "%12.5f", Comparison.Side::validation)
                .column("best", "%12.5f", Comparison.Side::best)
                .column("training", "%12.5f", Comparison.Side::loss)
                .column("peak rate", "%9.2g", Comparison.Side::peak)
                .column("mean rate", "%9.2g", Comparison.Side::mean)
                .column("end/peak", "%8.2g", Comparison.Side::endToPeak)
                .column("same tokens", "%11.5f", Comparison.Side::sameTokens)
                .column("same time", "%10.5f", Comparison.Side::sameTime)
                .print(out, c.sides());
        Map<String, Comparison.Side> best = new HashMap<>(); // of each optimizer
        for (Comparison.Side side : c.common()) {
            if (side.mean() > 0 && side.finished() && Comparison.oneTask(c.differing())) {
                best.merge(side.optimizer(), side, (x, y) -> x.validation() <= y.validation() ? x : y);
            }
        }
        if (!best.isEmpty()) {
            var byRate = Comparator.comparing(Comparison.Side::mean);
            Comparison.Side slow = Collections.min(best.values(), byRate),
                    fast = Collections.max(best.values(), byRate);
            double fold = fast.mean() / slow.mean();
            if (fold >= Turning.APART) {
                String sides = " (" + slow.name() + ", " + fast.name() + ")";
                out.printf("these runs turn their matrices at rates that differ %.2g-fold%s: ", fold, sides);
                out.println(
                        "they compare rates as well as optimizers; train them at the same effective rates with: ht fair "
                                + Next.word(slow.run()) + " " + Next.word(fast.run()));
            }
        }
        if (!c.searches().isEmpty()) {
            new Table<Comparison.Search>()
                    .column("optimizer", "%s", Comparison.Search::optimizer)
                    .column("trials", "%6d", Comparison.Search::trials)
                    .column("best", "%10.5f", Comparison.Search::best)
                    .column("of equally many", "%15.5f", Comparison.Search::expected)
                    .print(out, c.searches());
        }
        c.differing().forEach((key, values) -> out.println(key + ": " + String.join(" | ", values)));
        String baseline = c.sides().getFirst().name();
        out.println("baseline: " + baseline + ", the first side; --baseline SIDE chooses another");
        long tests = c.differences().stream().filter(d -> d.ends().p() != null).count();
        for (Comparison.Difference d : c.differences()) {
            String mean = Table.number("%+.5f", d.ends().mean());
            out.printf("%s - %s at step %d: %s; ", d.name(), baseline, d.at(), mean);
            String rates = d.rates() == null ? "unknown" : String.format("%.1e (relative)", d.rates());
            out.printf("largest difference of training losses %.2e, of effective rates %s; ", d.largest(), rates);
            out.print(
                    d.first() == null
                            ? "no loss that both have logged differs in any bit; "
                            : "the first loss that differs is at step " + d.first()
                                    + (d.alike() ? "; " : " (matrix products by other algorithms, decisions.txt); "));
            out.println(
                    d.crossover() == null
                            ? "neither overtakes the other"
                            : "the lead last changed by step " + d.crossover());
            Paired ends = d.ends();
            if (ends.p() == null) {
                out.println("  one common seed: too few to say whether this is noise");
            } else {
                String holm = tests < 2 ? "" : String.format(", %.2g by Holm for %d tests", ends.holm(), tests);
                String low = Table.number("%+.5f", ends.low()), high = Table.number("%+.5f", ends.high());
                out.printf("  %d common seeds: 95 %% interval %s to %s, ", ends.pairs(), low, high);
                out.printf("p = %.2g%s: ", ends.p(), holm);
                out.println(ends.holm() < NOISE ? "more than noise" : "within noise");
            }
        }
    }

    private static void print(PrintWriter out, Comparison c, double below) {
        out.println("steps to a validation loss below " + below + ", the mean over seeds at a validated step");
        new Table<Comparison.Side>()
                .column("side", "%s", Comparison.Side::name)
                .column("seeds", "%6d", side -> side.seeds().size())
                .column("mean", "%6d", side -> side.below().mean())
                .column("by 0.004/sqrt(seeds)", "%20d", side -> side.below().rule())
                .column("95 % interval", "%13d", side -> side.below().interval())
                .print(out, c.sides());
    }

    private static void print(PrintWriter out, long at, List<TensorDifference> rows) {
        out.printf("tensors at step %d%n", at);
        new Table<TensorDifference>()
                .column("tensor", "%s", TensorDifference::tensor)
                .column("norm of A", "%10.6g", TensorDifference::normA)
                .column("norm of B", "%10.6g", TensorDifference::normB)
                .column("bits", "%6s", row -> row.bits() ? "equal" : "differ")
                .column("largest", "%8.1e", TensorDifference::largest)
                .column("angle", "%8.1e", TensorDifference::angle)
                .print(out, rows);
        out.println(
                "largest: the largest difference after scaling to one norm, relative to the tensor's root mean square");
    }
}
