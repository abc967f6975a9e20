package hypertransfer.lab.compare;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import hypertransfer.core.Refusal;
import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.experiment.Experiment;
import hypertransfer.lab.experiment.Next;
import hypertransfer.lab.experiment.Outcome;
import hypertransfer.lab.experiment.Plan;
import hypertransfer.lab.experiment.Sharing;
import hypertransfer.lab.report.Report;
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
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * How the runs of an experiment stand over its seeds: each as it is, and as {@code again} trains it once more.
 *
 * @param parts the runs as they are, then those of each entry of {@code again} that follows nothing
 * @param twins the runs that follow others, and how near they are
 */
public record Standings(List<Part> parts, List<Twin> twins) {

    /**
     * Runs that were trained in one way.
     *
     * @param name own, or the entry of {@code again}
     * @param reference the run that the others are compared with
     * @param rows the lowest loss first
     */
    public record Part(String name, String title, String reference, List<Row> rows) {}

    /**
     * @param row the run of the experiment that it belongs to
     * @param folder the name of its folders; null where there is none, because its grid diverged
     * @param tuned the values that were chosen from its grid
     * @param edges the keys of these that ended at an end of the grid
     * @param validation the mean over seeds of the last validation loss; null where it diverged, like what follows
     * @param angle the accumulated angle, mean over seeds
     * @param difference to the reference, which has none
     * @param share of the distance between the run whose configuration it has and the run whose schedule it has, what the
     *     schedule makes: 0 where it ends as the first, 1 where it ends as the second
     */
    public record Row(
            String run,
            String row,
            String folder,
            int rank,
            Map<String, String> tuned,
            List<String> edges,
            Double validation,
            Double angle,
            @JsonUnwrapped Paired difference,
            @JsonUnwrapped(prefix = "share_") Paired.Share share) {
        private String interval() {
            return difference == null || difference.low() == null
                    ? null
                    : "%+.4f to %+.4f".formatted(difference.low(), difference.high());
        }

        private String values() {
            return tuned.entrySet().stream()
                    .map(e -> e.getKey().replaceFirst(".*\\.", "") + "=" + e.getValue())
                    .collect(Collectors.joining(" "));
        }

        private String shared() {
            if (share == null) {
                return null;
            }
            String mean = "%.0f %%".formatted(100 * share.mean());
            boolean single = difference != null && difference.pairs() == 1;
            return share.low() != null
                    ? mean + " (%.0f to %.0f)".formatted(100 * share.low(), 100 * share.high())
                    : single ? mean : "unclear";
        }
    }

    /** A run that follows another, with the largest gap of any loss at any step and seed. */
    public record Twin(String run, String follows, double gap) {}

    /** One seed's part of the JSON line of an experiment without {@code again}; of one seed only the runs are printed. */
    private record Answer(long seed, List<Outcome.Row> runs) {}

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
        boolean plain = experiment.again().isEmpty();
        List<Answer> answers = new ArrayList<>();
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
                if (plain) {
                    answers.add(new Answer(seed, Outcome.show(plans.getLast())));
                }
            }
        }
        if (!plain || seeds > 1) {
            of(plans).show(plans, to, json, !plain);
        }
        if (json.only && plain) {
            json.line(seeds > 1 ? answers : answers.getFirst().runs());
        }
        return Exit.FINE;
    }

    /** Of the plans of all seeds, which are finished. */
    private static Standings of(List<Plan> plans) {
        Experiment experiment = plans.getFirst().experiment();
        List<String> runs = experiment.runs().entrySet().stream()
                .filter(run -> run.getValue().follows() == null)
                .map(Map.Entry::getKey)
                .toList();
        List<Part> parts = new ArrayList<>();
        List<Twin> twins = new ArrayList<>();
        parts.add(part(plans, "own", "each at its own rates", runs.getFirst(), runs));
        experiment.again().forEach((entry, how) -> {
            if (how.follows() != null) {
                return;
            }
            List<String> of = how.of(experiment.runs().keySet());
            String whose = how.recordedOf() == null ? "each" : how.recordedOf();
            String title = (how.like() == null ? "each" : how.like()) + " at the effective rates of " + whose;
            String reference = how.like() != null ? how.like() : how.recordedOf() != null ? whose : runs.getFirst();
            parts.add(part(plans, entry, title, reference, of));
        });
        experiment.members().forEach((run, member) -> {
            if (member.follows() != null && finite(losses(plans, run))) {
                twins.add(twin(plans, run, member.follows()));
            }
        });
        return new Standings(parts, twins);
    }

    private static Part part(List<Plan> plans, String name, String title, String reference, List<String> of) {
        Map<String, String> rows = new LinkedHashMap<>(); // by the run that stands for it
        of.forEach(row -> rows.put(name.equals("own") ? row : row + "-" + name, row));
        if (!of.contains(reference)) {
            rows.put(reference, reference);
        }
        Map<String, Paired> differences = new HashMap<>();
        double[] others = losses(plans, reference);
        for (String run : rows.keySet()) {
            double[] apart = minus(losses(plans, run), others);
            if (finite(apart) && !run.equals(reference)) {
                differences.put(run, Paired.of(apart));
            }
        }
        List<Paired> family = List.copyOf(differences.values());
        differences.replaceAll((run, difference) -> difference.corrected(family));
        Map<String, Double> means = new HashMap<>();
        rows.keySet().forEach(run -> means.put(run, Paired.mean(losses(plans, run))));
        List<Row> ranked = rows.keySet().stream()
                .sorted(Comparator.comparing(means::get))
                .map(run -> {
                    long lower = means.values().stream()
                            .filter(mean -> mean < means.get(run))
                            .count();
                    return row(plans, run, rows.get(run), 1 + (int) lower, differences.get(run));
                })
                .toList();
        return new Part(name, title, reference, ranked);
    }

    private static Row row(List<Plan> plans, String run, String row, int rank, Paired difference) {
        Plan first = plans.getFirst();
        Experiment.Member member = first.experiment().members().get(run);
        Map<String, String> tuned = first.chosen(run).map(Plan.Point::grid).orElse(Map.of());
        String folder = first.chosen(run).map(Plan.Point::folder).orElse(null);
        double[] own = losses(plans, run);
        if (!finite(own)) {
            return new Row(run, row, folder, rank, tuned, List.of(), null, null, null, null);
        }
        double angle = Paired.mean(plans.stream()
                .mapToDouble(plan ->
                        Turning.of(new Run(plan.path(run).orElseThrow())).angle())
                .toArray());
        Paired.Share share = null;
        if (member.recordedOf() != null && member.like() != null) {
            double[] from = losses(plans, member.like()), to = losses(plans, member.recordedOf());
            share = finite(from) && finite(to) ? Paired.Share.of(minus(from, own), minus(from, to)) : null;
        }
        return new Row(run, row, folder, rank, tuned, first.edges(run), Paired.mean(own), angle, difference, share);
    }

    private static Twin twin(List<Plan> plans, String run, String follows) {
        double largest = plans.stream()
                .map(plan ->
                        Gap.of(plan.path(run).orElseThrow(), plan.path(follows).orElseThrow()))
                .mapToDouble(gap ->
                        Math.max(gap.training().largest(), gap.validation().largest()))
                .max()
                .orElseThrow();
        return new Twin(run, follows, largest);
    }

    private static double[] losses(List<Plan> plans, String run) {
        return plans.stream().mapToDouble(plan -> plan.loss(run)).toArray();
    }

    private static boolean finite(double[] losses) {
        return Arrays.stream(losses).allMatch(Double::isFinite);
    }

    private static double[] minus(double[] a, double[] b) {
        return IntStream.range(0, a.length).mapToDouble(i -> a[i] - b[i]).toArray();
    }

    /** Prints the tables, where asked for the line for programs, and writes the page of the runs in them. */
    private void show(List<Plan> plans, Path directory, JsonOption json, boolean line) {
        PrintWriter words = Width.folded(json.words());
        for (Part part : parts) {
            words.println();
            words.println(part.name + ": " + part.title + ", compared with " + part.reference);
            print(part, words, part == parts.getFirst());
        }
        words.println();
        words.println("angle: the sum of all effective rates, in radians, mean over matrices and seeds");
        words.println(
                plans.size() == 1
                        ? "one seed: whether a difference is noise cannot be told"
                        : "interval, Holm: of the difference over " + plans.size()
                                + " seeds, corrected for the table's tests");
        if (parts.size() > 1) {
            words.println(
                    "share: how far the rates take a run from the run whose settings it has to the run whose rates it has");
        }
        String ends = parts.getFirst().rows.stream()
                .filter(row -> !row.edges.isEmpty())
                .map(row -> row.run + " (" + String.join(", ", row.edges) + ")")
                .collect(Collectors.joining(", "));
        if (!ends.isEmpty()) {
            words.println("best at an end of its grid: " + ends + "; add values to the file and run the command again");
        }
        for (Twin twin : twins) {
            words.println(
                    twin.gap == 0
                            ? twin.run + " has all losses of " + twin.follows + ", to the last bit"
                            : "%s is within %.1e of %s at every step".formatted(twin.run, twin.gap, twin.follows));
        }
        ObjectNode message = JsonMapper.shared().valueToTree(this);
        message.put("type", parts.size() > 1 ? "standings" : ""); // one part is the page's own table
        List<Path> runs = plans.getFirst().experiment().members().keySet().stream()
                .flatMap(run -> plans.stream().flatMap(plan -> plan.path(run).stream()))
                .toList();
        Path page = directory.resolve("report.html");
        String title = plans.getFirst().experiment().title();
        Sharing.inTurn(() -> Report.write(title, null, runs, page, message.toString()));
        words.println("report: " + page.toAbsolutePath().normalize().toUri());
        words.flush();
        if (line && json.only) {
            json.line(this);
        }
    }

    private void print(Part part, PrintWriter words, boolean own) {
        Map<String, Integer> before = parts.getFirst().rows.stream().collect(Collectors.toMap(Row::run, Row::rank));
        Table<Row> table = new Table<Row>().column("run", "%s", Row::row).column("rank", "%4d", Row::rank);
        if (!own) {
            table.column("own rank", "%8d", row -> before.get(row.row));
        }
        table.column("validation", "%10.4f", Row::validation)
                .column("angle", "%6.3g", Row::angle)
                .column("minus", "%+8.4f", row -> row.difference == null ? null : row.difference.mean())
                .column("95 % interval", "%18s", Row::interval)
                .column("Holm", "%7.2g", row -> row.difference == null ? null : row.difference.holm())
                .column(own ? "tuned" : "share", "%s", row -> own ? row.values() : row.shared())
                .print(words, part.rows);
    }
}
