package hypertransfer.lab.certify;

import com.fasterxml.jackson.annotation.JsonAnyGetter;
import com.fasterxml.jackson.annotation.JsonInclude;
import hypertransfer.core.Refusal;
import hypertransfer.core.Step;
import hypertransfer.lab.terminal.StepLine;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.run.RecordedRates;
import hypertransfer.train.run.Rehearsal;
import hypertransfer.train.run.Rehearsal.Taken;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.DoubleFunction;
import java.util.stream.Collectors;

/**
 * How far apart the numbers of two sides are: both trained for a few steps in double precision, on a small network with the
 * same routing; or the logs of both.
 *
 * @param what was compared, for people
 * @param steps how many; the schedules have their whole course in them
 * @param whole whether these are all steps of the sides
 * @param largest the largest relative difference of each of {@code losses}, {@code rates} (effective ones), {@code norms} and
 *     {@code nominal} rates that is known
 * @param first the first step at which one that decides exceeds the bound; null where none does
 * @param turned the mean angle that a matrix turned by in all, to compare differences with
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
record Check(
        String what,
        long steps,
        boolean whole,
        @JsonAnyGetter Map<String, Double> largest,
        Integer first,
        Double turned) {
    private static final Map<String, String> WORDS = Map.of("rates", "effective rates", "nominal", "nominal rates");

    /** On the bundled text: whether the sides have the same data is known without it. */
    private static final String SMALL = "engine=reference target=null from.run=null from.step=0 matrices.grid=0"
            + " matrices.master=float64 model.recompute=false model.precision=auto model.vocab=256 data.train=demo data.validation=demo";

    /**
     * The check of two sides with all rates multiplied by a number, on a network that takes a second. What is small
     * already stays, and so does what a setting needs.
     *
     * @param aTakes the series of B that A takes for its schedule, or null
     * @param bTakes the same of B
     */
    static DoubleFunction<Check> small(
            Configuration a, Configuration b, String aTakes, String bTakes, int steps, double bound) {
        List<String> both = new ArrayList<>();
        if (a.matrices().settings().bf16() == b.matrices().settings().bf16()) { // a rounding, not the difference
            both.add("matrices.bf16=false");
        }
        boolean ownTables = aTakes == null && bTakes == null;
        if (!ownTables || a.matrices().recorded() == null && b.matrices().recorded() == null) {
            both.add("steps=" + Math.min(a.steps(), steps));
        }
        Refusal first = null;
        for (int layers : new int[] {2, Integer.MAX_VALUE}) { // a pattern may name a block
            for (int heads = 2; heads <= 64; heads *= 2) { // a view may need more rows
                try {
                    Configuration x = small(a, layers, heads, both), y = small(b, layers, heads, both);
                    boolean whole = x.steps() == a.steps() && a.steps() <= steps;
                    int count = Math.min(steps, x.steps());
                    return aTakes == null // what is taken comes first
                            ? scale -> of(x, y, bTakes, count, whole, scale, bound)
                            : scale -> of(y, x, aTakes, count, whole, scale, bound);
                } catch (Refusal e) {
                    first = first == null ? e : first;
                }
            }
        }
        throw new Refusal("there is no small network with the routing of both sides: " + first.getMessage(), first);
    }

    private static Configuration small(Configuration c, int layers, int heads, List<String> both) {
        Configuration.Model m = c.model();
        int head = Math.min(m.head(), 8),
                all = Math.min(m.width() / m.head(), heads),
                groups = m.design().kvHeads();
        int keys = groups == 0 ? 0 : Math.max(1, all * groups / (m.width() / m.head()));
        int width = head * all, mlp = (int) Math.ceil((double) m.design().mlpWidth() * width / m.width());
        int sequence = Math.min(m.sequence(), 16), window = Math.min(m.design().window(), (sequence + 1) / 2);
        List<String> settings = new ArrayList<>(List.of(SMALL.split(" ")));
        settings.addAll(List.of(
                "model.layers=" + Math.min(m.layers(), layers),
                "model.head=" + head,
                "model.width=" + width,
                "model.kv_heads=" + keys,
                "model.mlp_width=" + mlp,
                "model.sequence=" + sequence,
                "model.window=" + window,
                // two sequences per step, if there were as many
                "model.batch=" + (m.accumulation() > 1 ? 1 : Math.min(m.batch(), 2)),
                "model.accumulation=" + Math.min(m.accumulation(), 2)));
        settings.addAll(both);
        return ConfigurationFile.with(c, settings.toArray(String[]::new));
    }

    /** @param series of the first that the second takes for its schedule, or null */
    private static Check of(
            Configuration one, Configuration two, String series, int steps, boolean whole, double scale, double bound) {
        List<Taken> a = take(one, steps, scale, null);
        if (series != null && a.size() < steps) {
            throw new Refusal("the side whose rates are recorded diverges at step " + a.size()
                    + " of the check; lower its rates");
        }
        List<Taken> b = take(two, steps, scale, series == null ? null : RecordedRates.of(a, series));
        Map<String, Double> largest = new LinkedHashMap<>();
        double turned = 0;
        Integer first = null;
        boolean named = a.getFirst().names().equals(b.getFirst().names());
        int common = Math.min(a.size(), b.size());
        for (int t = 0; t < common; t++) {
            Taken x = a.get(t), y = b.get(t);
            double most = add(largest, "losses", x.loss(), y.loss());
            for (int k = 0; k < x.matrices().size(); k++) {
                Step step = x.matrices().get(k);
                turned += step.angle() / x.matrices().size();
                if (named) {
                    double its = y.matrices().get(k).effective();
                    most = Math.max(most, add(largest, "rates", step.effective(), its));
                }
            }
            first = first == null && !(most <= bound) ? (Integer) t : first;
        }
        if (a.size() != b.size()) { // one has diverged
            largest.put("losses", Double.POSITIVE_INFINITY);
            first = first == null ? (Integer) common : first;
        }
        String what = String.format(
                "%s, %s of width %d, %s in double precision",
                one.architecture().label(),
                StepLine.count(one.model().layers(), "layer"),
                one.model().width(),
                StepLine.count(common, "step"));
        return new Check(what, common, whole, largest, first, turned);
    }

    private static List<Taken> take(Configuration c, int steps, double scale, RecordedRates recorded) {
        List<Taken> taken = Rehearsal.take(c, steps, scale, recorded);
        if (taken.isEmpty()) {
            throw new Refusal("the check diverges at its first step; lower the rates");
        }
        return taken;
    }

    /** Adds two numbers to the largest relative differences; returns theirs. */
    static double add(Map<String, Double> largest, String key, double a, double b) {
        double apart = a == b ? 0 : Math.abs(a - b) / Math.max(Math.abs(a), Math.abs(b));
        double known = Double.isNaN(apart) ? Double.POSITIVE_INFINITY : apart;
        largest.merge(key, known, Math::max);
        return known;
    }

    /** The difference of losses relative to how far matrices turn. */
    double lossesPerTurn() {
        return largest.get("losses") / turned;
    }

    /** Whether the difference of the other, at lower rates, is smaller than in proportion to how far the matrices turn. */
    boolean shrinksTo(Check lower, double part, double bound) {
        Double rates = largest.get("rates"), lowerRates = lower.largest.get("rates");
        boolean nearer = lower.largest.get("losses") <= bound || lower.lossesPerTurn() <= part * lossesPerTurn();
        return nearer && (rates == null || lowerRates <= bound || lowerRates <= part * rates);
    }

    String text(double bound) {
        return largest.entrySet().stream()
                .map(e -> "of %s %.2g".formatted(WORDS.getOrDefault(e.getKey(), e.getKey()), e.getValue()))
                .collect(Collectors.joining(
                        ", ",
                        "check: " + what + "; largest relative difference ",
                        "; the same below %.1g".formatted(bound)));
    }
}
