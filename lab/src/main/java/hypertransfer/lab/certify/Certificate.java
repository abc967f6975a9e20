package hypertransfer.lab.certify;

import static java.util.stream.Collectors.joining;

import com.fasterxml.jackson.annotation.JsonInclude;
import hypertransfer.lab.certify.Finding.Shown;
import hypertransfer.lab.experiment.Version;
import hypertransfer.train.config.ConfigurationFile;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.TreeSet;
import java.util.function.DoubleFunction;
import java.util.stream.Stream;

/**
 * Whether two sides are the same dynamics, and why.
 *
 * @param verdict {@code same}, {@code first-order} or {@code different}
 * @param answer the sentence for people
 * @param map how one becomes the other, where they are the same
 * @param from the first step at which they differ, where they are different
 * @param check what was trained or read to see it; null where nothing had to be
 * @param settings the configurations, by whole keys: of A and of B, as far as there are two
 */
record Certificate(
        String verdict,
        String answer,
        @JsonInclude(JsonInclude.Include.NON_NULL) String map,
        @JsonInclude(JsonInclude.Include.NON_NULL) Integer from,
        List<String> notes,
        @JsonInclude(JsonInclude.Include.NON_NULL) Check check,
        double bound,
        String version,
        String a,
        String b,
        Map<String, List<String>> settings) {
    /**
     * Of first order is a difference that is, at a sixteenth of the rate, a sixteenth relative to the movement; of another
     * target it would stay what it is. What is nearer to the first counts.
     */
    private static final double BETWEEN = 0.25;

    boolean same() {
        return verdict.equals("same");
    }

    /**
     * @param steps of the check
     * @param bound the relative difference below which numbers are the same
     */
    static Certificate of(Side a, Side b, int steps, double bound) {
        String bTakes = b.takes(a), aTakes = bTakes == null ? a.takes(b) : null;
        Form ours, theirs;
        if (aTakes == null) {
            ours = Form.of(a, null, null);
            theirs = Form.of(b, ours, bTakes);
        } else {
            theirs = Form.of(b, null, null);
            ours = Form.of(a, theirs, aTakes);
        }
        List<String> notes = new ArrayList<>();
        for (Side side : List.of(a, b)) {
            boolean taken = side == a ? aTakes != null : bTakes != null;
            if (side.configuration().matrices().recorded() != null && !taken) {
                notes.add("the recorded schedule of " + side.letter()
                        + " is taken as a table of numbers: it is not one of"
                        + " every step of the other side's own run");
            }
        }
        int from = from(a, b, notes);
        Finding found = Finding.of(
                ours,
                theirs,
                Math.max(0, from),
                Math.min(a.configuration().steps(), b.configuration().steps()));
        Draft draft = new Draft(a.place(), b.place(), settings(a, b), notes, bound);
        if (from < 0 || found.has(Shown.NEVER)) {
            notes.add("nothing was trained: a check on a small network would not show this");
            return draft.different(found.step(), from < 0 ? "they start from different weights" : found.reason(), null);
        }
        DoubleFunction<Check> checks = Check.small(a.configuration(), b.configuration(), aTakes, bTakes, steps, bound);
        Check check = checks.apply(1);
        boolean equal = check.first() == null;
        if (found.same()) {
            if (equal) {
                return draft.same(found.map(), check);
            }
            notes.add("by its settings it would be the same (map: " + found.map()
                    + "): a bug, the 1e-10 inside the norms, or roundings that grow at these rates");
            return draft.different(check.first(), "the numbers of the check differ", check);
        }
        if (equal && !found.differences().isEmpty() && !found.has(Shown.SOMETIMES)) {
            notes.add("no map is known, and the check shows no difference: " + found.reason());
            return draft.same("by the numbers of the check only", check);
        }
        if (found.differences().isEmpty()) {
            return firstOrder(draft, checks, check, found);
        }
        if (equal) {
            notes.add("the check does not show it: its gradients are not those of the sides");
        }
        return draft.different(equal || !check.whole() ? found.step() : check.first(), found.reason(), check);
    }

    private static Certificate firstOrder(Draft draft, DoubleFunction<Check> checks, Check check, Finding found) {
        Check quarter = checks.apply(1.0 / 4), sixteenth = checks.apply(1.0 / 16);
        draft.notes.add(String.format(
                Locale.ROOT,
                "relative to how far matrices turn, losses differ by %.2g, at a quarter of all rates by %.2g, at a sixteenth by"
                        + " %.2g",
                check.losses() / check.turned(),
                quarter.losses() / quarter.turned(),
                sixteenth.losses() / sixteenth.turned()));
        if (check.shrinksTo(sixteenth, BETWEEN, draft.bound)) {
            String answer = "the same to first order in the rate, because " + found.reason();
            return draft.certificate("first-order", answer, null, check.first(), check);
        }
        draft.notes.add("the difference does not shrink with the rate");
        return draft.different(check.first(), found.reason(), check);
    }

    /** What every certificate has. */
    record Draft(String a, String b, Map<String, List<String>> settings, List<String> notes, double bound) {
        Certificate same(String map, Check check) {
            return certificate("same", "the same (map: " + map + ")", map, null, check);
        }

        Certificate different(int step, String why, Check check) {
            return certificate("different", "different from step " + step + " on, because " + why, null, step, check);
        }

        Certificate certificate(String verdict, String answer, String map, Integer from, Check check) {
            String version = Version.built().toString();
            return new Certificate(verdict, answer, map, from, notes, check, bound, version, a, b, settings);
        }
    }

    /** The step at which both begin: that of the checkpoint where one continues the other; -1 where nothing is shared. */
    private static int from(Side a, Side b, List<String> notes) {
        var x = a.configuration().from();
        var y = b.configuration().from();
        if (x.run() == null && y.run() == null || x.equals(y)) {
            return x.step();
        }
        for (Side side : List.of(a, b)) {
            Side other = side == a ? b : a;
            if (side.continues(other) && other.configuration().from().run() == null) {
                int step = side.configuration().from().step();
                notes.add(side.letter() + " continues " + other.letter() + " from step " + step
                        + " on; the check begins both at their start");
                return step;
            }
        }
        return -1;
    }

    static Map<String, List<String>> settings(Side a, Side b) {
        Map<String, String> x = ConfigurationFile.settings(a.configuration()),
                y = ConfigurationFile.settings(b.configuration());
        var keys = new TreeSet<>(x.keySet());
        keys.addAll(y.keySet());
        Map<String, List<String>> all = new LinkedHashMap<>();
        for (String key : keys) {
            String mine = x.getOrDefault(key, "-"), its = y.getOrDefault(key, "-");
            all.put(key, Objects.equals(mine, its) ? List.of(mine) : List.of(mine, its));
        }
        return all;
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

    /** One page for people. */
    String page() {
        return "Certificate of dynamics\n\nA: " + a + "\nB: " + b + "\n\n" + text() + "\nby " + version
                + "\n\nsettings (A | B where they differ)\n" + settings("  ", false);
    }
}
