package hypertransfer.lab.compare;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import hypertransfer.core.Refusal;
import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.experiment.Experiment;
import hypertransfer.lab.experiment.Next;
import hypertransfer.lab.experiment.Plan;
import hypertransfer.lab.experiment.Sharing;
import hypertransfer.lab.terminal.Exit;
import hypertransfer.lab.terminal.Interrupt;
import hypertransfer.lab.terminal.Table;
import hypertransfer.lab.terminal.Width;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.log.Gap;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.Turning;
import hypertransfer.train.network.Preset;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * How the runs of an experiment stand over its seeds: each as it is, and as {@code again} trains it once more.
 *
 * @param parts the runs of each network as they are, then those of each entry of {@code again} that follows nothing
 * @param twins the runs that follow others, and how near they are
 */
public record Standings(List<Part> parts, List<Twin> twins) {
    /**
     * Runs that were trained in one way.
     *
     * @param name the network, or in an experiment with {@code again} own or the entry
     * @param reference the run that the others are compared with
     * @param rows the lowest loss first
     */
    public record Part(String name, String title, String reference, List<Row> rows) {
        private boolean own() {
            return rows.stream().allMatch(row -> row.run.equals(row.row));
        }

        /** Whether its reference diverged, and how far apart its runs end, where two or more have a loss. */
        private String ends() {
            List<Double> ends = rows.stream()
                    .flatMap(row -> Stream.ofNullable(row.validation))
                    .toList();
            boolean lost = rows.stream().anyMatch(row -> row.run.equals(reference) && row.validation == null);
            return (lost ? ", which has no result" : "")
                    + (ends.size() < 2 ? "" : "; they end %.2g apart".formatted(ends.getLast() - ends.getFirst()));
        }
    }

    /**
     * @param row the run of the experiment that it belongs to
     * @param folder the name of its folders; null where there is none, because its grid diverged
     * @param rank 1 for the lowest loss; null where it diverged
     * @param tuned the values that were chosen from its grid
     * @param edges the keys of these that ended at an end of the grid
     * @param losses the last validation loss of each seed; null where it diverged, like what follows
     * @param validation their mean
     * @param angle the accumulated angle, mean over seeds
     * @param endToPeak the last effective rate over the largest, mean over matrices and seeds
     * @param difference to the reference, which has none
     * @param share of the distance between the run whose configuration it has and the run whose schedule it has, what the
     *     schedule makes: 0 where it ends as the first, 1 where it ends as the second
     */
    public record Row(
            String run,
            String row,
            String folder,
            Integer rank,
            Map<String, String> tuned,
            List<String> edges,
            double[] losses,
            Double validation,
            Double angle,
            Double endToPeak,
            @JsonUnwrapped Paired difference,
            @JsonUnwrapped(prefix = "share_") Paired.Share share) {
        private String interval() {
            return difference == null || difference.low() == null
                    ? null
                    : Table.number("%+.4f", difference.low()) + " to " + Table.number("%+.4f", difference.high());
        }

        private String values() {
            return tuned.entrySet().stream()
                    .map(e -> e.getKey().replaceFirst("^matrices\\.", "") + "=" + e.getValue())
                    .collect(Collectors.joining(" "));
        }

        private static String percent(double share) {
            return Table.number("%.0f", 100 * share);
        }

        private String shared() {
            if (share == null) {
                return null;
            }
            String mean = percent(share.mean()) + " %";
            return share.low() != null
                    ? mean + " (" + percent(share.low()) + " to " + percent(share.high()) + ")"
                    : losses.length == 1 ? mean : "unclear";
        }
    }

    /**
     * A run that follows another.
     *
     * @param gap the largest gap of any loss at any step and seed; NaN where too few are common
     * @param end its last validation loss minus that of the other, mean over seeds
     */
    public record Twin(String run, String follows, double gap, double end) {
        private String text() {
            return Double.isNaN(gap)
                    ? "%s and %s have too few losses in common to be compared".formatted(run, follows)
                    : gap == 0
                            ? "%s has all losses of %s, to the last bit".formatted(run, follows)
                            : "%s is within %.1e of %s at every step and ends %.1e %s it"
                                    .formatted(run, gap, follows, Math.abs(end), end < 0 ? "below" : "above");
        }
    }

    /**
     * Trains an experiment for each seed, one after the other, and shows it; returns the exit code.
     *
     * @param name what stands before a refusal of its runs
     * @param apart whether each seed has a folder of its own
     */
    public static int train(
            String name,
            Experiment experiment,
            Preset preset,
            List<String> given,
            long firstSeed,
            int seeds,
            boolean apart,
            Path to,
            JsonOption json) {
        if (seeds < 1) {
            throw new Refusal("--seeds is " + seeds + "; it must be one or more");
        }
        List<Plan> plans = new ArrayList<>();
        try (Interrupt interrupt = new Interrupt()) {
            for (int k = 0; k < seeds; k++) {
                long seed = firstSeed + k; // behind the largest comes the smallest
                Path directory = apart ? to.resolve("seed-" + seed) : to;
                Path first = plans.isEmpty() ? directory : plans.getFirst().directory();
                List<String> settings = new ArrayList<>(given);
                if (apart) {
                    settings.add("seed=" + seed);
                }
                plans.add(Configuration.in(
                        name, () -> new Plan(experiment, preset, settings, directory, first, json.words())));
                if (!plans.getLast().run(interrupt)) {
                    json.words().print(Next.again(to));
                    return Exit.INTERRUPTED;
                }
                plans.getLast().requireResults();
            }
        }
        of(plans).show(plans, to, json);
        return Exit.FINE;
    }

    /** Of the plans of all seeds, which are finished. */
    private static Standings of(List<Plan> plans) {
        Experiment experiment = plans.getFirst().experiment();
        boolean again = !experiment.again().isEmpty(); // where a run may have no result
        Map<String, List<String>> own = new LinkedHashMap<>();
        experiment.runs().forEach((run, member) -> {
            if (member.follows() == null) {
                own.computeIfAbsent(again ? "own" : network(plans, run), name -> new ArrayList<>())
                        .add(run);
            }
        });
        List<Part> parts = new ArrayList<>();
        List<Twin> twins = new ArrayList<>();
        own.forEach((name, of) -> parts.add(part(plans, name, "each at its own rates", of.getFirst(), of, "")));
        experiment.again().forEach((entry, how) -> {
            if (how.follows() != null) {
                return;
            }
            List<String> of = how.of(experiment.runs().keySet());
            String whose = how.recordedOf() == null ? "each" : how.recordedOf();
            String title = (how.like() == null ? "each" : how.like()) + " at the effective rates of " + whose;
            String reference =
                    how.like() != null ? how.like() : how.recordedOf() != null ? whose : parts.getFirst().reference;
            parts.add(part(plans, entry, title, reference, of, "-" + entry));
        });
        experiment.members().forEach((run, member) -> {
            if (member.follows() != null && Double.isFinite(mean(plans, run))) {
                twins.add(twin(plans, run, member.follows()));
            }
        });
        return new Standings(parts, twins);
    }

    private static Part part(
            List<Plan> plans, String name, String title, String reference, List<String> of, String suffix) {
        Map<String, String> rows = new LinkedHashMap<>(); // by the run that stands for it
        of.forEach(row -> rows.put(row + suffix, row));
        if (!of.contains(reference)) {
            rows.put(reference, reference);
        }
        Map<String, double[]> losses = new LinkedHashMap<>();
        rows.keySet().forEach(run -> losses.put(run, losses(plans, run)));
        Map<String, Paired> differences = new HashMap<>();
        double[] others = losses(plans, reference);
        losses.forEach((run, own) -> {
            double[] apart = minus(own, others);
            if (Double.isFinite(Paired.mean(apart)) && !run.equals(reference)) {
                differences.put(run, Paired.of(apart));
            }
        });
        List<Paired> family = List.copyOf(differences.values());
        differences.replaceAll((run, difference) -> difference.corrected(family));
        List<Double> means = losses.values().stream().map(Paired::mean).sorted().toList();
        List<Row> ranked = new ArrayList<>();
        losses.forEach((run, own) -> {
            int rank = 1 + means.indexOf(Paired.mean(own));
            ranked.add(row(plans, run, rows.get(run), own, rank, differences.get(run)));
        });
        ranked.sort(Comparator.comparing(Row::rank, Comparator.nullsLast(Comparator.naturalOrder())));
        return new Part(name, title, reference, ranked);
    }

    private static Row row(List<Plan> plans, String run, String row, double[] own, int rank, Paired difference) {
        Plan first = plans.getFirst();
        Experiment.Member member = first.experiment().members().get(run);
        Map<String, String> tuned = first.chosen(run).map(Plan.Point::grid).orElse(Map.of());
        String folder = first.chosen(run).map(Plan.Point::folder).orElse(null);
        double mean = Paired.mean(own);
        if (!Double.isFinite(mean)) {
            return new Row(run, row, folder, null, tuned, List.of(), null, null, null, null, null, null);
        }
        List<Turning> turnings = runs(plans, run).map(Turning::of).toList();
        double angle = Paired.mean(turnings.stream().mapToDouble(Turning::angle).toArray());
        double ratio =
                Paired.mean(turnings.stream().mapToDouble(Turning::finalToPeak).toArray());
        Paired.Share share = null;
        if (member.recordedOf() != null && member.like() != null && !member.elsewhere()) {
            double[] from = losses(plans, member.like()), to = losses(plans, member.recordedOf());
            share = Paired.Share.of(minus(from, own), minus(from, to));
        }
        return new Row(run, row, folder, rank, tuned, first.edges(run), own, mean, angle, ratio, difference, share);
    }

    private static Twin twin(List<Plan> plans, String run, String follows) {
        double largest = 0;
        for (Plan plan : plans) {
            Gap gap = Gap.of(plan.path(run).orElseThrow(), plan.path(follows).orElseThrow());
            largest = Math.max(
                    largest, Math.max(gap.training().largest(), gap.validation().largest()));
        }
        return new Twin(run, follows, largest, mean(plans, run) - mean(plans, follows));
    }

    private static String network(List<Plan> plans, String run) {
        Configuration c = runs(plans, run).findFirst().orElseThrow().configuration();
        return c.network().name();
    }

    private static Stream<Run> runs(List<Plan> plans, String run) {
        return plans.stream().flatMap(plan -> plan.path(run).stream()).map(Run::new);
    }

    private static double[] losses(List<Plan> plans, String run) {
        return plans.stream().mapToDouble(plan -> plan.loss(run)).toArray();
    }

    private static double mean(List<Plan> plans, String run) {
        return Paired.mean(losses(plans, run));
    }

    private static double[] minus(double[] a, double[] b) {
        return IntStream.range(0, a.length).mapToDouble(i -> a[i] - b[i]).toArray();
    }

    /** Prints the tables, or the line for programs, and writes the page. */
    private void show(List<Plan> plans, Path directory, JsonOption json) {
        Experiment experiment = plans.getFirst().experiment();
        boolean again = !experiment.again().isEmpty();
        PrintWriter words = Width.folded(json.words());
        for (Part part : parts) {
            words.println();
            words.println(part.name + ": " + part.title + ", compared with " + part.reference + part.ends());
            print(part, words, plans.size() > 1);
        }
        words.println();
        words.println("angle: the sum of all effective rates, in radians, mean over matrices and seeds");
        words.println("end/peak: last effective rate over the largest, mean over matrices and seeds");
        words.println(
                plans.size() == 1
                        ? "one seed: whether a difference is noise cannot be told"
                        : "interval: Student's of the difference over " + plans.size()
                                + " seeds; Holm: its p, corrected for the table's tests");
        if (again) {
            words.println(
                    "share: how far the rates take a run from the run whose settings it has to the run whose rates it has");
        }
        String ends = parts.stream()
                .flatMap(part -> part.rows.stream())
                .filter(row -> !row.edges.isEmpty())
                .map(row -> row.run + " (" + String.join(", ", row.edges) + ")")
                .distinct()
                .collect(Collectors.joining(", "));
        if (!ends.isEmpty()) {
            words.println("best at an end of its grid: " + ends + "; add values to the file and run the command again");
        }
        twins.forEach(twin -> words.println(twin.text()));
        ObjectNode message = JsonMapper.shared().valueToTree(this);
        message.put("type", again ? "standings" : ""); // own rates only are the page's own table
        List<Path> runs = experiment.members().keySet().stream()
                .flatMap(run -> runs(plans, run))
                .map(Run::directory)
                .toList();
        Sharing.report(experiment.title(), runs, directory, words, message.toString());
        if (json.only) {
            json.line(this);
        }
    }

    private void print(Part part, PrintWriter words, boolean several) {
        Map<String, Integer> before = new HashMap<>();
        parts.getFirst().rows.forEach(row -> before.put(row.run, row.rank));
        Table<Row> table = new Table<Row>().column("run", "%s", Row::row).column("rank", "%4d", Row::rank);
        if (!part.own()) {
            table.column("own rank", "%8d", row -> before.get(row.row));
        }
        table.column("validation", "%10.4f", Row::validation)
                .column("angle", "%6.3g", Row::angle)
                .column("end/peak", "%8.4f", Row::endToPeak)
                .column("minus", "%+.4f", row -> row.difference == null ? null : row.difference.mean());
        if (several) {
            table.column("95 % interval", "%18s", Row::interval)
                    .column("Holm", "%.2g", row -> row.difference == null ? null : row.difference.holm());
        }
        if (!part.own() || part.rows.stream().anyMatch(row -> !row.tuned.isEmpty())) {
            table.column(part.own() ? "tuned" : "share", "%s", part.own() ? Row::values : Row::shared);
        }
        table.print(words, part.rows);
    }
}
