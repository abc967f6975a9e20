package hypertransfer.lab.command.answer;

import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.comparison.Difference;
import hypertransfer.lab.terminal.Exit;
import hypertransfer.lab.terminal.Width;
import hypertransfer.train.log.Run;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code ht diff}: where two runs part. */
@Command(
        name = "diff",
        description = "Compares two runs bit by bit: the first loss that differs, and every tensor of one checkpoint.",
        footer = {
            "  ht diff out/muon-hypertransfer out/muon",
            "  ht diff out/muon-hypertransfer out/muon --at 100",
            "  ht diff out/muon-hypertransfer out/muon --json",
            "",
            "A carrier's matrix is scaled to the other's norm first. The exit code is 1 if a",
            "loss differs, else 0."
        })
public final class DiffCommand implements Callable<Integer> {
    /** The columns beside the tensor's name. */
    private static final int OTHERS = 48;

    @Parameters(index = "0", paramLabel = "A", description = "A run.")
    private Path a;

    @Parameters(index = "1", paramLabel = "B", description = "Another run of the same network.")
    private Path b;

    @Option(
            names = "--at",
            paramLabel = "STEP",
            description = "The checkpoint's step (default: the newest common one).")
    private Long step;

    @Mixin
    private JsonOption json;

    /**
     * The JSON line.
     *
     * @param firstLoss the first step whose loss differs; null where none does
     * @param step of the checkpoints whose tensors are compared
     */
    private record Answer(Integer firstLoss, long step, List<Difference> tensors) {}

    @Override
    public Integer call() {
        Run own = new Run(a), other = new Run(b);
        own.configuration(); // which refuses what is no run
        other.configuration();
        OptionalInt first = Difference.firstLoss(own, other, json::warn);
        long at = step == null ? Difference.commonStep(own, other) : step;
        List<Difference> rows = Difference.all(own, other, at);
        json.either(
                new Answer(first.isPresent() ? first.getAsInt() : null, at, rows),
                out -> print(Width.folded(out), first, at, rows));
        return first.isPresent() ? Exit.CHECK_FAILED : Exit.FINE;
    }

    private static void print(PrintWriter out, OptionalInt first, long at, List<Difference> rows) {
        out.printf("tensors at step %d%n", at);
        int longest = rows.stream().mapToInt(row -> row.tensor().length()).max().orElse(6);
        int width = Math.min(longest, Math.max(12, Width.here().columns() - OTHERS));
        String name = "%-" + Math.max(6, width) + "s ";
        out.printf(name + "%10s %10s %6s %8s %8s%n", "tensor", "norm of A", "norm of B", "bits", "largest", "angle");
        for (Difference row : rows) {
            out.printf(
                    Locale.ROOT,
                    name + "%10.6g %10.6g %6s %8.1e %8.1e%n",
                    Width.end(row.tensor(), width),
                    row.normA(),
                    row.normB(),
                    row.bits() ? "equal" : "differ",
                    row.largest(),
                    row.angle());
        }
        out.println(
                "largest: the largest difference after scaling to one norm, relative to the tensor's root mean square");
        out.println(
                first.isPresent()
                        ? "the first loss that differs is at step " + first.getAsInt()
                        : "no loss that both have logged differs in any bit");
    }
}
