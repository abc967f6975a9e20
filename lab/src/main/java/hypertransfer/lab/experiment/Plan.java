package hypertransfer.lab.experiment;

import hypertransfer.core.Rates;
import hypertransfer.core.Refusal;
import hypertransfer.lab.report.Report;
import hypertransfer.lab.terminal.StepLine;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.log.Gap;
import hypertransfer.train.log.Line;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.Standing;
import hypertransfer.train.log.Tail;
import hypertransfer.train.network.Preset;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BooleanSupplier;

/** An experiment at a preset, in a directory: trains what is not finished yet, and shows what came out. */
public final class Plan {
    private final Experiment experiment;
    private final Preset preset;
    private final List<String> settings;
    private final Path directory;
    private final PrintWriter out;

    public Plan(Experiment experiment, Preset preset, List<String> settings, Path directory, PrintWriter out) {
        this.experiment = experiment;
        this.preset = preset;
        this.settings = settings;
        this.directory = directory;
        this.out = out;
    }

    /** Trains every run in turn; returns whether all were finished. */
    public boolean run(BooleanSupplier stop) {
        Experiment.Tuned tuned = experiment.tuned(preset);
        out.println(experiment.title() + ", preset " + preset.label() + ", in " + directory);
        if (tuned.settings().isEmpty() && tuned.runs().isEmpty()) {
            out.println("no rates are tuned for this preset, so every run takes the defaults; tune them with 'ht sweep'"
                    + " and put them into a file like those in runs/");
        }
        int number = 0;
        long begun = System.nanoTime();
        double done = 0;
        for (String name : experiment.runs().keySet()) {
            number++;
            Path path = directory.resolve(name);
            boolean resume = new Run(path).begun();
            Configuration c = resume ? Launch.resumable(path, configuration(name)) : configuration(name);
            if (finished(path)) {
                out.println("run " + number + " of " + experiment.runs().size() + ", " + name + ": finished before");
                continue;
            }
            double left = done == 0
                    ? Double.NaN
                    : (System.nanoTime() - begun)
                            / 1e9
                            / done
                            * (experiment.runs().size() - number + 1);
            out.printf(
                    "run %d of %d, %s%s%n",
                    number,
                    experiment.runs().size(),
                    name,
                    Double.isNaN(left) ? "" : "; " + StepLine.duration(left) + " left for all runs");
            if (!new Launch(path, c, resume, number > 1, out).run(stop)) {
                return false;
            }
            done++;
        }
        return true;
    }

    /** The final validation losses, by the names of the runs. */
    public Map<String, Double> validations() {
        Map<String, Double> losses = new LinkedHashMap<>();
        experiment.runs().keySet().forEach(run -> losses.put(run, validation(run)));
        return losses;
    }

    private double validation(String run) {
        return new Run(directory.resolve(run)).standing().validation();
    }

    private static boolean finished(Path run) {
        return new Run(run).standing().state() == Standing.State.FINISHED;
    }

    private Configuration configuration(String name) {
        Experiment.Member member = experiment.runs().get(name);
        Experiment.Tuned tuned = experiment.tuned(preset);
        List<String> all = new ArrayList<>();
        if (member.follows() == null) {
            all.add("preset=" + preset.label());
            all.addAll(experiment.settings());
            all.addAll(tuned.settings());
        }
        all.addAll(member.settings());
        all.addAll(tuned.runs().getOrDefault(name, List.of()));
        if (member.ratioOf() != null) {
            all.add("matrices.final_ratio=" + ratio(directory.resolve(member.ratioOf())));
        }
        if (member.follows() == null) {
            all.addAll(settings);
            return ConfigurationFile.of(all.toArray(String[]::new));
        }
        Path target = directory.resolve(member.follows());
        all.add("target=" + target.toAbsolutePath().normalize());
        return ConfigurationFile.with(new Run(target).configuration(), all.toArray(String[]::new));
    }

    /** The mean over all hidden matrices of the last effective rate over the largest. */
    public static double ratio(Path run) {
        Tail tail = new Run(run).matrices();
        double[] peak = null, last = null;
        for (Line line = tail.next(); line != null; line = tail.next()) {
            last = ((Line.Matrices) line).effective();
            peak = peak == null ? last.clone() : peak;
            for (int k = 0; k < peak.length; k++) {
                peak[k] = Math.max(peak[k], last[k]);
            }
        }
        if (peak == null) {
            throw new Refusal(run + " has logged no matrices, so its final-to-peak ratio is not known");
        }
        double sum = 0;
        for (int k = 0; k < peak.length; k++) {
            sum += Rates.finalToPeak(new double[] {peak[k], last[k]});
        }
        return sum / peak.length;
    }

    /** The table of final losses and gaps, and a report for each network. */
    public void show() {
        Map<String, List<Path>> networks = new TreeMap<>();
        out.printf("%n%-32s %12s %12s %12s %12s%n", "run", "validation", "final gap", "largest gap", "end/peak");
        for (String name : experiment.runs().keySet()) {
            Path run = directory.resolve(name);
            String follows = experiment.runs().get(name).follows();
            Gap gap = follows == null ? null : Gap.of(run, directory.resolve(follows));
            out.printf(
                    Locale.ROOT,
                    "%-32s %12.5f %12s %12s %12.4f%n",
                    name,
                    validation(name),
                    gap == null
                            ? ""
                            : String.format(
                                    Locale.ROOT, "%+.1e", gap.validation().last()),
                    gap == null
                            ? ""
                            : String.format(
                                    Locale.ROOT, "%.1e", gap.validation().largest()),
                    ratio(run));
            String network = new Run(run).configuration().network().name();
            networks.computeIfAbsent(network, n -> new ArrayList<>()).add(run);
        }
        out.println("gaps are of the validation loss, to the run that is followed; end/peak is of the effective rate");
        Map<String, Path> reports = new LinkedHashMap<>();
        networks.forEach((network, runs) -> {
            Path report = directory.resolve(networks.size() == 1 ? "report.html" : "report-" + network + ".html");
            Report.write(experiment.title(), runs, report);
            reports.put(network, report);
        });
        out.println();
        reports.forEach((network, report) -> out.println("report of " + network + ": "
                + report.toAbsolutePath().normalize().toUri()));
        out.flush();
    }
}
