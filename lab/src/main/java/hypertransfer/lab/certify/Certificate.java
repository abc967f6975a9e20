package hypertransfer.lab.certify;

import static java.util.stream.Collectors.joining;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import hypertransfer.core.Refusal;
import hypertransfer.lab.certify.Findings.Means;
import hypertransfer.lab.effective.Effective;
import hypertransfer.lab.experiment.Version;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.log.Line;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.DoubleFunction;
import java.util.stream.Stream;

/**
 * Whether two sides are the same dynamics, and why.
 *
 * @param verdict {@code same}, {@code first-order} or {@code different}; null until it is known, like the answer
 * @param answer the sentence for people
 * @param map how one becomes the other, where they are the same
 * @param from the first step at which they differ, where they are different
 * @param check what was trained or read to see it; null where nothing had to be
 * @param settings the configurations, by whole keys: of A and of B, as far as there are two
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
record Certificate(
        String verdict,
        String answer,
        String map,
        Integer from,
        List<String> notes,
        Check check,
        double bound,
        String a,
        String b,
        Map<String, List<String>> settings) {
    /**
     * Of first order is a difference that is, at a sixteenth of the rate, a sixteenth relative to the movement; of another
     * target it would stay what it is. What is nearer to the first counts.
     */
    private static final double BETWEEN = 0.25;

    /** One that says nothing yet. */
    private static Certificate open(Side a, Configuration its, String b, double bound) {
        var sides = List.of(ConfigurationFile.settings(a.configuration()), ConfigurationFile.settings(its));
        Map<String, List<String>> settings = new TreeMap<>();
        for (String key : sides.stream().flatMap(side -> side.keySet().stream()).toList()) {
            Stream<String> values = sides.stream().map(side -> side.getOrDefault(key, "-"));
            settings.put(key, values.distinct().toList());
        }
        return new Certificate(null, null, null, null, new ArrayList<>(), null, bound, a.place(), b, settings);
    }

    private Certificate with(String verdict, String answer, String map, Integer from, Check check) {
        return new Certificate(verdict, answer, map, from, notes, check, bound, a, b, settings);
    }

    private Certificate same(String map, Check check) {
        return with("same", "the same (map: " + map + ")", map, null, check);
    }

    private Certificate different(int step, String why, Check check) {
        return with("different", "different from step " + step + " on, because " + why, null, step, check);
    }

    @JsonProperty
    String version() {
        return Version.built().toString();
    }

    boolean same() {
        return verdict.equals("same");
    }

    /**
     * By the settings, and by the numbers of a check.
     *
     * @param steps of the check
     * @param bound the relative difference below which numbers are the same
     */
    static Certificate of(Side a, Side b, int steps, double bound) {
        Certificate open = open(a, b.configuration(), b.place(), bound);
        String bTakes = b.takes(a), aTakes = bTakes == null ? a.takes(b) : null;
        Facts ours = Facts.of(a.configuration(), null, null), theirs = Facts.of(b.configuration(), ours, bTakes);
        if (aTakes != null) {
            ours = Facts.of(a.configuration(), theirs, aTakes);
        }
        open.noteTable(a, aTakes);
        open.noteTable(b, bTakes);
        var precisions = Stream.of(a, b)
                .map(side -> side.configuration().model().precision().label())
                .distinct()
                .toList();
        if (precisions.size() > 1) {
            open.notes.add("roundings were not compared: model.precision is " + String.join(" and ", precisions));
        }
        int from = open.begin(a, b);
        int common = Math.min(a.configuration().steps(), b.configuration().steps());
        Findings found = new Findings(ours, theirs, Math.max(0, from), common);
        if (from < 0 || found.means() == Means.NEVER_SHOWN) {
            open.notes.add("nothing was trained: a check on a small network would not show this");
            return open.different(found.step(), from < 0 ? "they start from different weights" : found.reason(), null);
        }
        return open.decided(found, Check.small(a.configuration(), b.configuration(), aTakes, bTakes, steps, bound));
    }

    private void noteTable(Side side, String taken) {
        if (side.configuration().matrices().recorded() != null && taken == null) {
            notes.add("the recorded schedule of " + side.letter() + " is taken as a table of numbers: it is not one of"
                    + " every step of the other side's own run");
        }
    }

    /** The step at which both begin: that of the checkpoint where one continues the other; -1 where nothing is shared. */
    private int begin(Side a, Side b) {
        var x = a.configuration().from();
        var y = b.configuration().from();
        if (x.run() == null && y.run() == null || x.equals(y)) {
            return x.step();
        }
        if (!a.continues(b) && !b.continues(a)) {
            return -1;
        }
        Side later = a.continues(b) ? a : b, earlier = later == a ? b : a;
        int step = later.configuration().from().step();
        notes.add(later.letter() + " continues " + earlier.letter() + " from step " + step
                + " on; the check begins both at their start");
        return step;
    }

    /** The numbers decide in the end. */
    private Certificate decided(Findings found, DoubleFunction<Check> checks) {
        Check check = checks.apply(1);
        boolean equal = check.first() == null;
        if (found.means() == Means.FIRST_ORDER) {
            return firstOrder(found, checks, check);
        }
        if (found.means() == Means.MAP && equal) {
            return same(found.map(), check);
        }
        if (found.means() == Means.MAP) {
            notes.add("by its settings it would be the same (map: " + found.map()
                    + "): a bug, the 1e-10 inside the norms, or roundings that grow at these rates");
            return different(check.first(), "the numbers of the check differ", check);
        }
        if (found.means() == Means.DIFFERENT && equal) {
            notes.add("no map is known, and the check shows no difference: " + found.reason());
            return same("none known, by the numbers of the check only", check);
        }
        if (equal) {
            notes.add("the check does not show it: its gradients are not those of the sides");
        }
        return different(equal || !check.whole() ? found.step() : check.first(), found.reason(), check);
    }

    private Certificate firstOrder(Findings found, DoubleFunction<Check> checks, Check check) {
        Check quarter = checks.apply(1.0 / 4), sixteenth = checks.apply(1.0 / 16);
        String differ =
                "relative to how far matrices turn, losses differ by %.2g, at a quarter of all rates by %.2g, at a"
                        + " sixteenth by %.2g";
        notes.add(differ.formatted(check.lossesPerTurn(), quarter.lossesPerTurn(), sixteenth.lossesPerTurn()));
        if (check.shrinksTo(sixteenth, BETWEEN, bound)) {
            String answer = "the same to first order in the rate, because " + found.reason();
            return with("first-order", answer, null, check.first(), check);
        }
        notes.add("the difference does not shrink with the rate");
        return different(check.first(), found.reason(), check);
    }

    /**
     * A run beside a log that was made elsewhere, at the steps and matrices that both have. The effective rates decide;
     * norms and nominal rates may be those of another space.
     */
    static Certificate of(Side ours, Path file, double bound) {
        List<String> names = ours.run().provenance().matrices();
        Map<Long, Line.Matrices> lines = new HashMap<>();
        ours.run().matrices().lines(Line.Matrices.class).forEach(line -> lines.put((long) line.step(), line));
        TreeSet<String> there = new TreeSet<>();
        List<Effective.Row> rows = new ArrayList<>();
        Effective log = Effective.read(file, row -> {
            there.add(row.matrix());
            if (names.contains(row.matrix()) && lines.containsKey(row.step())) {
                rows.add(row);
            }
        });
        if (rows.isEmpty()) {
            throw new Refusal(file + " and " + ours.place() + " have no step of a matrix in common: the file has "
                    + there.first() + (there.size() == 1 ? "" : " to " + there.last()) + ", the run has "
                    + names.getFirst() + " to " + names.getLast() + "; use the run's names and step numbers");
        }
        Map<String, Double> largest = new LinkedHashMap<>();
        Effective.Row first = null;
        for (Effective.Row row : rows) {
            Line.Matrices own = lines.get(row.step());
            int k = names.indexOf(row.matrix());
            double apart = Check.add(largest, "rates", own.effective()[k], row.effective());
            Check.add(largest, "norms", own.norm()[k], row.norm());
            if (!Double.isNaN(row.rate())) {
                Check.add(largest, "nominal", own.rate()[k], row.rate());
            }
            first = !(apart <= bound) && (first == null || row.step() < first.step()) ? row : first;
        }
        Certificate open = open(ours, ours.configuration(), file.toString(), bound);
        open.notes.addAll(log.notes());
        open.notes.add("only what the log has was compared: effective rates, norms and nominal rates; losses, gradients"
                + " and data were not");
        long missing = names.stream().filter(name -> !there.contains(name)).count();
        if (missing > 0) {
            open.notes.add(missing + " of the run's " + names.size() + " matrices are not in the log");
        }
        Integer step = first == null ? null : (int) first.step();
        Check check = new Check(rows.size() + " rows of both logs", rows.size(), false, largest, step, null);
        if (first != null) {
            return open.different(step, "the effective rates of " + first.matrix() + " differ", check);
        }
        boolean own = largest.values().stream().allMatch(apart -> apart <= bound);
        String other = "the same effective rates in another space, whose norms or nominal rates differ";
        return open.same(own ? "the same norms and rates" : other, check);
    }

    /** The answer, with what was trained or compared and how far apart it is. */
    String text() {
        Stream<String> compared = check == null ? Stream.of() : Stream.of(check.text(bound));
        return Stream.concat(compared, notes.stream())
                .map(line -> "  " + line + "\n")
                .collect(joining("", answer + "\n", ""));
    }

    /** The settings, one per line, with two values where they differ. */
    String settings(String indent, boolean differing) {
        return settings.entrySet().stream()
                .filter(entry -> !differing || entry.getValue().size() == 2)
                .map(entry -> indent + entry.getKey() + ": " + String.join(" | ", entry.getValue()) + "\n")
                .collect(joining());
    }

    String page() {
        return "Certificate of dynamics\n\nA: " + a + "\nB: " + b + "\n\n" + text() + "\nby " + version()
                + "\n\nsettings (A | B where they differ)\n" + settings("  ", false);
    }
}
