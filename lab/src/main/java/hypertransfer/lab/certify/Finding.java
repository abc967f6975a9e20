package hypertransfer.lab.certify;

import hypertransfer.core.Schedule;
import hypertransfer.core.Space;
import hypertransfer.core.Transfer;
import hypertransfer.lab.certify.Form.Part;
import hypertransfer.train.optimizer.Rule;
import hypertransfer.train.optimizer.Soap;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What the normal forms of two sides say.
 *
 * @param differences why they are different; empty where they are not
 * @param firstOrder why they are the same to first order only
 * @param maps how one becomes the other
 */
record Finding(List<Difference> differences, List<String> firstOrder, Set<String> maps) {
    /** Rates that differ by less are those of one schedule, written in two ways. */
    private static final double ROUNDING = 1e-12;

    /** What the small network of a check does not have. */
    private static final String UNSEEN =
            "steps|data\\.train|model\\.(layers|width|head|vocab|sequence|batch|accumulation"
                    + "|kv_heads|mlp_width|window)";

    /**
     * @param step the first at which it acts
     * @param shown whether the check on a small network shows it
     */
    record Difference(String what, int step, Shown shown) {}

    /** What a check that shows no difference says about one of the settings. */
    enum Shown {
        /** That it does not act. */
        ALWAYS,
        /** Nothing: no gradient may have been large enough to be clipped, no step where rates differ. */
        SOMETIMES,
        /** Nothing: the small network does not have it. */
        NEVER
    }

    /** @param from the step at which both begin */
    static Finding of(Form a, Form b, int from, int steps) {
        var finding = new Finding(new ArrayList<>(), new ArrayList<>(), new LinkedHashSet<>());
        Set<String> keys = new TreeSet<>(a.facts().keySet());
        keys.addAll(b.facts().keySet());
        for (String key : keys) {
            Shown shown = key.matches(UNSEEN) ? Shown.NEVER : key.startsWith("clip.") ? Shown.SOMETIMES : Shown.ALWAYS;
            finding.differs(key, a.facts().get(key), b.facts().get(key), from, shown);
        }
        finding.rates("AdamW's rate", a.adamw(), b.adamw(), from, steps);
        if (!a.parts().keySet().equals(b.parts().keySet())) {
            finding.differs("another view: not the same parts of matrices count as matrices", from, Shown.ALWAYS);
        } else {
            Map<List<Part>, List<String>> pairs = new LinkedHashMap<>(); // matrices that differ alike are told once
            a.parts()
                    .forEach((name, part) -> pairs.computeIfAbsent(
                                    List.of(part, b.parts().get(name)), pair -> new ArrayList<>())
                            .add(name));
            pairs.forEach((pair, names) -> finding.compare(pair.getFirst(), pair.getLast(), names, from, steps));
        }
        return finding;
    }

    private void rates(String what, Schedule a, Schedule b, int from, int steps) {
        if (a.equals(b)) {
            return;
        }
        for (int t = from; t < steps; t++) {
            double x = a.rate(t), y = b.rate(t);
            if (Math.abs(x - y) > ROUNDING * Math.max(x, y)) {
                differs(what + " is " + x + " and " + y + " at step " + t, t, Shown.SOMETIMES);
                return;
            }
        }
    }

    private void compare(Part a, Part b, List<String> names, int from, int steps) {
        int before = differences.size();
        String which = names.getFirst() + (names.size() > 1 ? " and " + (names.size() - 1) + " others" : "");
        Form.Turn x = a.turn(), y = b.turn();
        Shown seldom = a.direction() instanceof Soap ? Shown.SOMETIMES : Shown.ALWAYS; // its bases turn seldom
        differs("the direction of " + which, a.direction(), b.direction(), from, seldom);
        if (!differs("the space that " + which + " follows", x.space(), y.space(), from, Shown.ALWAYS)) {
            rates("the rate of " + which, x.rates(), y.rates(), from, steps);
            if (!x.decays().equals(y.decays())) {
                differs("the recorded decays of " + which + " are others", from, Shown.SOMETIMES);
            }
        }
        differs("the start of " + which, a.start(), b.start(), from, Shown.ALWAYS);
        if (!a.seen().equals(b.seen()) && !a.loose()) {
            String where = "the gradient of " + which + " is seen at the norm of " + a.seen() + " and of " + b.seen();
            if (a.invariant()) {
                firstOrder.add(where + ", so momentum mixes gradients of different scales");
            } else {
                differs(where + ", and the loss depends on the scale of this matrix", from, Shown.ALWAYS);
            }
        }
        if (differences.size() == before) {
            map(a, b);
        }
    }

    private void differs(String what, int from, Shown shown) {
        differences.add(new Difference(what, from, shown));
    }

    private boolean differs(String what, Object a, Object b, int from, Shown shown) {
        if (Objects.equals(a, b)) {
            return false;
        }
        differs(what + " is " + a + " and " + b, from, shown);
        return true;
    }

    /** How the matrix of one side becomes that of the other. */
    private void map(Part a, Part b) {
        Rule ours = a.rule(), theirs = b.rule();
        Transfer s = ours.transfer(), t = theirs.transfer();
        boolean follows = s.target().equals(t.target());
        if (!follows || a.turn() == b.turn() && !s.carrier().equals(t.carrier()) && s.isPlain() && t.isPlain()) {
            maps.add("one takes the recorded steps of the other: A in " + space(s.carrier()) + ", B in "
                    + space(t.carrier()));
        } else if (!s.carrier().equals(t.carrier()) || s.gradient() != t.gradient()) {
            String rates = t.carrier() instanceof Space.Base && s.carrier() instanceof Space.Base
                    ? ", with the rates of equation (wd-transferred-lr)"
                    : "";
            String ofBoth = "both follow " + space(s.target()) + ", A carried by " + in(a) + ", B by " + in(b);
            String ofOne = s.isPlain() ? "B is A carried by " + in(b) + rates : "A is B carried by " + in(a) + rates;
            String ofNone = "the gradient is evaluated at another scale and scaled back";
            maps.add(s.isPlain() && t.isPlain() ? ofNone : s.isPlain() || t.isPlain() ? ofOne : ofBoth);
        }
        if (ours.radius() != theirs.radius()) {
            maps.add("a Hyperball of radius " + ours.radius() + " and of " + theirs.radius()
                    + ", which no gradient sees here");
        }
        if (!a.seen().equals(b.seen())) {
            maps.add("without momentum the scale of a gradient does not matter");
        }
    }

    private static String in(Part part) {
        return space(part.rule().transfer().carrier()) + ": " + part.mode();
    }

    private static String space(Space space) {
        return space instanceof Space.Base ? space.toString() : "a Hyperball";
    }

    boolean same() {
        return differences.isEmpty() && firstOrder.isEmpty();
    }

    boolean has(Shown shown) {
        return differences.stream().anyMatch(d -> d.shown == shown);
    }

    int step() {
        return differences.stream().mapToInt(Difference::step).min().orElse(0);
    }

    String reason() {
        return Stream.concat(differences.stream().map(Difference::what), firstOrder.stream())
                .distinct()
                .collect(Collectors.joining("; "));
    }

    String map() {
        return maps.isEmpty() ? "the same settings of everything that acts" : String.join("; ", maps);
    }
}
