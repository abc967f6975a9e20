package hypertransfer.lab.certify;

import hypertransfer.core.Schedule;
import hypertransfer.core.Space;
import hypertransfer.core.Transfer;
import hypertransfer.lab.certify.Facts.Part;
import hypertransfer.train.optimizer.Soap;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Where the facts of two sides differ, in the order in which it is told, and what each difference means. */
final class Findings {
    /** Rates that differ by less are those of one schedule, written in two ways. */
    private static final double ROUNDING = 1e-12;

    /** What the small network of a check does not have. */
    private static final String UNSEEN =
            "steps|data\\.train|model\\.(layers|width|head|vocab|sequence|batch( times model\\.accumulation)?"
                    + "|kv_heads|mlp_width|window)";

    /** What a difference means, the worst last. */
    enum Means {
        /** Nothing: this is how one side becomes the other. */
        MAP,
        /** The same to first order in the rate. */
        FIRST_ORDER,
        /** Different, unless the check shows no difference: then it does not act. */
        DIFFERENT,
        /** Different, also where the check shows none: it may have clipped no gradient, or no step where rates differ. */
        SELDOM_SHOWN,
        /** Different, and the small network of a check does not have it. */
        NEVER_SHOWN
    }

    /** @param step the first at which it acts */
    private record Difference(String what, int step, Means means) {
        boolean acts() {
            return means.compareTo(Means.FIRST_ORDER) > 0;
        }
    }

    private final List<Difference> all = new ArrayList<>();
    private final int from;
    private final int steps;

    /** @param from the step at which both begin */
    Findings(Facts a, Facts b, int from, int steps) {
        this.from = from;
        this.steps = steps;
        Set<String> keys = new TreeSet<>(a.common().keySet());
        keys.addAll(b.common().keySet());
        for (String key : keys) {
            Means means = key.matches(UNSEEN)
                    ? Means.NEVER_SHOWN
                    : key.startsWith("clip.") ? Means.SELDOM_SHOWN : Means.DIFFERENT;
            differs(key, a.common().get(key), b.common().get(key), means);
        }
        rates("AdamW's rate", a.adamw(), b.adamw());
        if (!a.parts().keySet().equals(b.parts().keySet())) {
            add("another view: other parts of the matrices count as matrices", Means.DIFFERENT);
            return;
        }
        Map<List<Part>, List<String>> pairs = new LinkedHashMap<>(); // matrices that differ alike are told once
        a.parts().forEach((name, part) -> {
            List<Part> pair = List.of(part, b.parts().get(name));
            pairs.computeIfAbsent(pair, none -> new ArrayList<>()).add(name);
        });
        pairs.forEach((pair, names) -> compare(pair.getFirst(), pair.getLast(), names));
    }

    private void add(String what, Means means) {
        all.add(new Difference(what, from, means));
    }

    private boolean differs(String what, Object a, Object b, Means means) {
        if (!Objects.equals(a, b)) {
            add(what + " is " + a + " and " + b, means);
        }
        return !Objects.equals(a, b);
    }

    private void rates(String what, Schedule a, Schedule b) {
        for (int t = from; t < steps && !a.equals(b); t++) {
            double x = a.rate(t), y = b.rate(t);
            if (Math.abs(x - y) > ROUNDING * Math.max(x, y)) {
                all.add(new Difference(what + " is " + x + " and " + y + " at step " + t, t, Means.SELDOM_SHOWN));
                return;
            }
        }
    }

    private void compare(Part a, Part b, List<String> names) {
        int before = all.size();
        String which = names.getFirst() + (names.size() > 1 ? " and " + (names.size() - 1) + " others" : "");
        boolean soap = a.rule().direction() instanceof Soap; // whose bases turn seldom
        Means turned = soap ? Means.SELDOM_SHOWN : Means.DIFFERENT;
        differs("the direction of " + which, a.rule().direction(), b.rule().direction(), turned);
        if (!differs("the space that " + which + " follows", a.follows(), b.follows(), Means.DIFFERENT)) {
            rates("the rate of " + which, a.rates(), b.rates());
            if (!a.decays().equals(b.decays())) {
                add("the recorded decays of " + which + " are others", Means.SELDOM_SHOWN);
            }
        }
        differs("the start of " + which, a.start(), b.start(), Means.DIFFERENT);
        if (all.size() == before) {
            map(a, b);
        }
        if (!a.seen().equals(b.seen())) {
            String where = "the gradient of " + which + " is seen at the norm of " + a.seen() + " and of " + b.seen();
            String what = switch (a.scale()) {
                case MAP -> "without momentum the scale of a gradient does not matter";
                case FIRST_ORDER -> where + ", so momentum mixes gradients of different scales";
                default -> where + ", and the loss depends on the scale of this matrix";
            };
            add(what, a.scale());
        }
    }

    /** How the matrix of one side becomes that of the other. */
    private void map(Part a, Part b) {
        Transfer s = a.rule().transfer(), t = b.rule().transfer();
        boolean plain = s.isPlain() && t.isPlain(), carried = !s.carrier().equals(t.carrier());
        if ((a.taken() || b.taken()) && (!s.target().equals(t.target()) || carried && plain)) {
            String where = "A in " + space(s.carrier()) + ", B in " + space(t.carrier());
            add("one takes the recorded steps of the other: " + where, Means.MAP);
        } else if (carried || s.gradient() != t.gradient()) {
            boolean bases = t.carrier() instanceof Space.Base && s.carrier() instanceof Space.Base;
            String rates = bases ? ", with the rates of equation (wd-transferred-lr)" : "";
            String how = plain
                    ? "the gradient is evaluated at another scale and scaled back"
                    : s.isPlain()
                            ? "B is A carried by " + in(b) + rates
                            : t.isPlain()
                                    ? "A is B carried by " + in(a) + rates
                                    : "both follow " + space(s.target()) + ", A carried by " + in(a) + ", B by "
                                            + in(b);
            add(how, Means.MAP);
        }
        double ours = a.rule().radius(), theirs = b.rule().radius();
        if (ours != theirs) {
            add("a Hyperball of radius " + ours + " and of " + theirs + ", which no gradient sees here", Means.MAP);
        }
    }

    private static String in(Part part) {
        return space(part.rule().transfer().carrier()) + ": " + part.mode();
    }

    private static String space(Space space) {
        return space instanceof Space.Hyperball ? "a Hyperball" : space.toString();
    }

    /** What all of them mean. */
    Means means() {
        return all.stream().map(Difference::means).max(Means::compareTo).orElse(Means.MAP);
    }

    /** The first step at which one acts. */
    int step() {
        return all.stream()
                .filter(Difference::acts)
                .mapToInt(Difference::step)
                .min()
                .orElse(0);
    }

    private Stream<String> told(Predicate<Difference> which) {
        return all.stream().filter(which).map(Difference::what);
    }

    String reason() {
        return Stream.concat(told(Difference::acts), told(d -> d.means == Means.FIRST_ORDER))
                .distinct()
                .collect(Collectors.joining("; "));
    }

    String map() {
        String maps = told(d -> d.means == Means.MAP).distinct().collect(Collectors.joining("; "));
        return maps.isEmpty() ? "the same settings of everything that acts" : maps;
    }
}
