package hypertransfer.lab.experiment;

import hypertransfer.core.Refusal;
import hypertransfer.lab.report.Report;
import hypertransfer.lab.terminal.Interrupt;
import hypertransfer.lab.terminal.StepLine;
import hypertransfer.lab.terminal.Table;
import hypertransfer.lab.terminal.Width;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.config.Curve;
import hypertransfer.train.log.Gap;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.RunStatus;
import hypertransfer.train.log.Turning;
import hypertransfer.train.network.Preset;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/** An experiment at a preset, in a directory: trains what is not finished yet, and shows what came out. */
public record Plan(Experiment experiment, Preset preset, List<String> settings, Path directory, PrintWriter out) {

    /**
     * Trains every run; returns whether all are finished, or it was interrupted. Several processes may do so on one
     * directory.
     */
    public boolean run(Interrupt stop) {
        Experiment.Tuned tuned = experiment.tuned(preset);
        PrintWriter words = Width.folded(out);
        words.println(experiment.title() + ", preset " + preset.label() + ", in " + directory);
        if (tuned.settings().isEmpty() && tuned.runs().isEmpty()) {
            words.println(
                    "no rates are tuned for this preset, so every run takes the defaults; tune them with 'ht sweep'"
                            + " and put them into a file like those in runs/");
        }
        List<String> names = List.copyOf(experiment.runs().keySet());
        long begun = System.nanoTime();
        AtomicInteger done = new AtomicInteger();
        List<Path> paths = names.stream().map(directory::resolve).toList();
        return new Sharing(paths, stop, out)
                .run(path -> ready(path.getFileName().toString()), path -> {
                    int number = names.indexOf(path.getFileName().toString()) + 1;
                    String name = names.get(number - 1), which = "run " + number + " of " + names.size() + ", " + name;
                    boolean resume = new Run(path).begun();
                    Configuration c = resume ? Launch.resumable(path, configuration(name)) : configuration(name);
                    if (finished(path)) {
                        out.println(which + ": finished before");
                        return true;
                    }
                    int before = done.getAndIncrement();
                    double left = (System.nanoTime() - begun) / 1e9 / before * (names.size() - number + 1);
                    out.println(which + (before == 0 ? "" : "; " + StepLine.duration(left) + " left for all runs"));
                    return new Launch(path, c, resume, number > 1, out).run(stop);
                });
    }

    /** Whether the runs that this one is made from are finished. */
    private boolean ready(String name) {
        Experiment.Member member = experiment.runs().get(name);
        return Stream.of(member.follows(), member.ratioOf())
                .filter(Objects::nonNull)
                .allMatch(other -> finished(directory.resolve(other)));
    }

    private static boolean finished(Path run) {
        return new Run(run).status().state() == RunStatus.State.FINISHED;
    }

    Configuration configuration(String name) {
        Experiment.Member member = experiment.runs().get(name);
        Experiment.Tuned tuned = experiment.tuned(preset);
        boolean leads = member.follows() == null;
        List<String> all = new ArrayList<>();
        if (leads) {
            all.add("preset=" + preset.label());
            all.addAll(experiment.settings());
            all.addAll(tuned.settings());
        }
        all.addAll(member.settings());
        all.addAll(tuned.runs().getOrDefault(name, List.of()));
        // The target's path is relative, so that all can be moved together.
        all.addAll(leads ? settings : List.of(ConfigurationFile.text("target", "../" + member.follows())));
        String[] keys = all.toArray(String[]::new);
        Configuration c = leads
                ? ConfigurationFile.of(keys)
                : ConfigurationFile.with(new Run(directory.resolve(member.follows())).configuration(), keys);
        if (member.ratioOf() == null) {
            return c;
        }
        double ratio = finalRatio(c, ratio(directory.resolve(member.ratioOf())));
        return ConfigurationFile.with(c, "matrices.final_ratio=" + ratio);
    }

    /**
     * The final ratio with which the last step has this part of the peak rate. A schedule reaches its final ratio after
     * the last step, so the two differ; every shape's last rate is a straight line in the final ratio.
     */
    static double finalRatio(Configuration c, double wanted) {
        Curve curve = c.matrices().curve();
        Curve toZero = new Curve(curve.schedule(), curve.warmup(), 0);
        double least = toZero.from(1, c.steps()).rate(c.steps() - 1);
        double ratio = (wanted - least) / (1 - least);
        if (!(ratio >= 0 && ratio <= 1)) {
            throw new Refusal("a last rate of " + wanted + " of the peak cannot be reached: schedule "
                    + curve.schedule().text() + " over " + c.steps() + " steps ends at " + least
                    + " or more; take more steps");
        }
        return ratio;
    }

    /** The mean over all hidden matrices of the last effective rate over the largest. */
    public static double ratio(Path run) {
        double ratio = Turning.of(new Run(run)).finalToPeak();
        if (Double.isNaN(ratio)) {
            throw new Refusal(run + " has logged no matrices, so its final-to-peak ratio is not known");
        }
        return ratio;
    }

    /**
     * What came out of a run.
     *
     * @param finalGap of the validation loss to the run that is followed, as the largest one; null where none is followed
     * @param endOverPeak the last effective rate over the largest, the mean over all matrices
     */
    public record Row(String run, double validation, Double finalGap, Double largestGap, double endOverPeak) {}

    /** Prints the table of final losses and gaps, writes a report for each network, and returns the table's rows. */
    public List<Row> show() {
        PrintWriter words = Width.folded(out);
        List<Row> rows = new ArrayList<>();
        Map<String, Network> networks = new TreeMap<>();
        for (String name : experiment.runs().keySet()) {
            Path run = directory.resolve(name);
            String follows = experiment.runs().get(name).follows();
            Gap gap = follows == null ? null : Gap.of(run, directory.resolve(follows));
            Double last = gap == null ? null : gap.validation().last();
            Double largest = gap == null ? null : gap.validation().largest();
            Row row = new Row(name, new Run(run).status().validation(), last, largest, ratio(run));
            rows.add(row);
            Configuration c = new Run(run).configuration();
            Network network = networks.computeIfAbsent(c.network().name(), n -> new Network());
            network.runs.add(run);
            if (gap == null && Double.isFinite(row.validation)) {
                network.leads.put(name, row.validation);
            } else if (gap != null && c.matrices().weights().placebo() == 1) {
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
            Path report = directory.resolve(networks.size() == 1 ? "report.html" : "report-" + name + ".html");
            String title = experiment.title() + (networks.size() == 1 ? "" : ": network " + name);
            Sharing.inTurn(() -> Report.write(title, null, network.runs, report));
            words.println("report of " + name + ": "
                    + report.toAbsolutePath().normalize().toUri());
        });
        words.flush();
        return rows;
    }

    private static final class Network {
        private final List<Path> runs = new ArrayList<>();
        private final Map<String, Double> leads = new LinkedHashMap<>(); // the last validation losses
        private double largest = -1; // gap of any follower's training or validation loss; below zero without one

        /** How far the optimizers are from each other, and how near each transfer is to its target. */
        Optional<String> contrast() {
            if (!(largest >= 0)) {
                return Optional.empty();
            }
            double low = leads.values().stream().mapToDouble(v -> v).min().orElse(Double.NaN);
            double apart = leads.values().stream().mapToDouble(v -> v).max().orElse(Double.NaN) - low;
            String ends = leads.size() < 2
                    ? ""
                    : String.format("%s end %.2g apart; ", String.join(" and ", leads.keySet()), apart);
            String near = largest == 0
                    ? "every transfer has all losses of its target, to the last bit"
                    : String.format("every transfer is within %.1e of its target at every step", largest);
            String closer =
                    largest > 0 && apart >= 2 * largest ? String.format(", %,.0f times closer", apart / largest) : "";
            return Optional.of(ends + near + closer);
        }
    }
}
