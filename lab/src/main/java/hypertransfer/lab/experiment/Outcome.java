package hypertransfer.lab.experiment;

import hypertransfer.core.Refusal;
import hypertransfer.lab.report.Report;
import hypertransfer.lab.terminal.Table;
import hypertransfer.lab.terminal.Width;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.Matrices;
import hypertransfer.train.log.Gap;
import hypertransfer.train.log.Run;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** What came out of an experiment with one seed: final losses, and how near every follower is to its target. */
public final class Outcome {
    private Outcome() {}

    /**
     * What came out of a run.
     *
     * @param finalGap of the validation loss to the run that is followed, as the largest one; null where none is followed
     * @param endOverPeak the last effective rate over the largest, the mean over all matrices
     */
    public record Row(String run, double validation, Double finalGap, Double largestGap, double endOverPeak) {}

    /** Prints the table of final losses and gaps, writes a report for each network, and returns the table's rows. */
    public static List<Row> show(Plan plan) {
        PrintWriter words = Width.folded(plan.out());
        Experiment experiment = plan.experiment();
        List<Row> rows = new ArrayList<>();
        Map<String, Network> networks = new TreeMap<>();
        for (String name : experiment.members().keySet()) {
            Path run = plan.path(name)
                    .orElseThrow(
                            () -> new Refusal("run " + name + " has no result, because a grid diverged at every point;"
                                    + " lower its rates in the experiment's file"));
            String follows = experiment.members().get(name).follows();
            Gap gap = follows == null ? null : Gap.of(run, plan.path(follows).orElseThrow());
            Double last = gap == null ? null : gap.validation().last();
            Double largest = gap == null ? null : gap.validation().largest();
            Row row = new Row(name, new Run(run).status().validation(), last, largest, Plan.ratio(run));
            rows.add(row);
            Configuration c = new Run(run).configuration();
            Network network = networks.computeIfAbsent(c.network().name(), n -> new Network());
            network.runs.add(run);
            if (gap == null && Double.isFinite(row.validation)) {
                network.leads.put(name, row.validation);
            } else if (gap != null && !whole(c.matrices())) {
                network.ablated = true;
            } else if (gap != null) {
                network.transfers.add(name);
                network.largest =
                        Math.max(network.largest, Math.max(gap.training().largest(), largest));
            }
        }
        words.println();
        new Table<Row>()
                .column("run", "%s", Row::run)
                .column("validation", "%10.5f", Row::validation)
                .column("final gap", "%+9.1e", Row::finalGap)
                .column("largest gap", "%11.1e", Row::largestGap)
                .column("end/peak", "%8.4f", Row::endOverPeak)
                .print(words, rows);
        words.println("gaps are of the validation loss, to the run that is followed;");
        words.println("end/peak is the last effective rate over the largest, the mean over all matrices");
        networks.forEach((name, network) -> network.contrast().ifPresent(text -> words.println(name + ": " + text)));
        words.println();
        networks.forEach((name, network) -> {
            Path report = plan.directory().resolve(networks.size() == 1 ? "report.html" : "report-" + name + ".html");
            String title = experiment.title() + (networks.size() == 1 ? "" : ": network " + name);
            Sharing.inTurn(() -> Report.write(title, null, network.runs, report));
            words.println("report of " + name + ": "
                    + report.toAbsolutePath().normalize().toUri());
        });
        words.flush();
        return rows;
    }

    /** Whether it is a transfer from which nothing was left out to see what that does. */
    private static boolean whole(Matrices m) {
        return !m.transfer().isPlain()
                && m.gradient() != Matrices.Gradient.AS_IS
                && m.proxyGrowth() == null
                && m.weights().placebo() == 1;
    }

    private static final class Network {
        private final List<Path> runs = new ArrayList<>();
        private final Map<String, Double> leads = new LinkedHashMap<>(); // the last validation losses
        private final List<String> transfers = new ArrayList<>(); // all that are whole
        private boolean ablated; // whether others follow a run too
        private double largest = -1; // gap of any follower's training or validation loss; below zero without one

        /** How far the optimizers are from each other, and how near each transfer is to its target. */
        Optional<String> contrast() {
            if (!(largest >= 0)) {
                return Optional.empty();
            }
            var losses = leads.values().stream().mapToDouble(v -> v).summaryStatistics();
            double apart = losses.getMax() - losses.getMin();
            String ends = leads.size() < 2
                    ? ""
                    : String.format(
                            "%s end %.2g apart; ",
                            String.join(leads.size() == 2 ? " and " : ", ", leads.keySet()), apart);
            String every = !ablated
                    ? "every transfer"
                    : (transfers.size() == 1 ? "" : "each of ") + String.join(", ", transfers);
            String near = every
                    + (largest == 0
                            ? " has all losses of its target, to the last bit"
                            : String.format(" is within %.1e of its target at every step", largest));
            String closer =
                    largest > 0 && apart >= 2 * largest ? String.format(", %,.0f times closer", apart / largest) : "";
            return Optional.of(ends + near + closer);
        }
    }
}
