package hypertransfer.lab.certify;

import com.fasterxml.jackson.annotation.JsonInclude;
import hypertransfer.core.Refusal;
import hypertransfer.core.Step;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.run.Feed;
import hypertransfer.train.run.Rehearsal;
import hypertransfer.train.run.Rehearsal.Source;
import hypertransfer.train.run.Rehearsal.Taken;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.DoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * How far apart the numbers of two sides are: both trained for a few steps in double precision, on a small network with the
 * same routing; or the logs of both. Differences are the largest relative ones, null where they are not known.
 *
 * @param what was compared, for people
 * @param steps how many; the schedules have their whole course in them
 * @param whole whether these are all steps of the sides
 * @param losses of training
 * @param rates effective ones
 * @param norms of a log
 * @param nominal rates of a log
 * @param first the first step at which one exceeds the bound; null where none does
 * @param turned the mean angle that a matrix turned by in all, to compare differences with
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
record Check(
        String what,
        long steps,
        boolean whole,
        Double losses,
        Double rates,
        Double norms,
        Double nominal,
        Integer first,
        Double turned) {

    /**
     * The check of two sides with all rates multiplied by a number, on a network that takes a second. What is small
     * already stays, and so does what a setting needs.
     *
     * @param aTakes the series of B that A takes for its schedule, or null
     * @param bTakes the same of B
     */
    static DoubleFunction<Check> small(
            Configuration a, Configuration b, String aTakes, String bTakes, int steps, double bound) {
        boolean bf16 = a.matrices().settings().bf16()
                != b.matrices().settings().bf16(); // a rounding, unless it is the difference
        boolean table = a.matrices().recorded() != null && aTakes == null
                || b.matrices().recorded() != null && bTakes == null;
        Refusal last = null;
        for (int layers : new int[] {2, Integer.MAX_VALUE}) { // a pattern may name a block
            for (int heads = 2; heads <= 64; heads *= 2) { // a view may need more rows
                for (boolean demo : new boolean[] {false, true}) { // the data may be gone
                    try {
                        Configuration x = small(a, layers, heads, steps, table, demo, bf16);
                        Configuration y = small(b, layers, heads, steps, table, demo, bf16);
                        Feed.open(x).close();
                        Feed.open(y).close();
                        boolean whole = x.steps() == a.steps() && a.steps() <= steps;
                        int count = Math.min(steps, x.steps());
                        return aTakes == null // what is taken comes first
                                ? scale -> of(x, y, bTakes, count, whole, scale, bound)
                                : scale -> of(y, x, aTakes, count, whole, scale, bound);
                    } catch (Refusal e) {
                        last = last == null ? e : last;
                    }
                }
            }
        }
        throw new Refusal("no small network has the routing of both: " + last.getMessage(), last);
    }

    private static Configuration small(
            Configuration c, int layers, int heads, int steps, boolean table, boolean demo, boolean bf16) {
        Configuration.Model m = c.model();
        int head = Math.min(m.head(), 8),
                all = Math.min(m.width() / m.head(), heads),
                groups = m.design().kvHeads();
        int keys = groups == 0 ? 0 : Math.max(1, all * groups / (m.width() / m.head()));
        int width = head * all, mlp = (int) Math.ceil((double) m.design().mlpWidth() * width / m.width());
        int sequence = Math.min(m.sequence(), 16), window = Math.min(m.design().window(), (sequence + 1) / 2);
        boolean own = m.vocab() <= 256 && !demo;
        List<String> settings = new ArrayList<>(List.of(
                "engine=reference",
                "matrices.grid=0",
                "matrices.master=float64",
                "from={run: null, step: 0}",
                "target=null",
                "model.recompute=false",
                "model.layers=" + Math.min(m.layers(), layers),
                "model.head=" + head,
                "model.width=" + width,
                "model.kv_heads=" + keys,
                "model.mlp_width=" + mlp,
                "model.sequence=" + sequence,
                "model.window=" + window,
                "model.vocab=" + (own ? m.vocab() : 256),
                // two sequences per step, if there were as many
                "model.batch=" + (m.accumulation() > 1 ? 1 : Math.min(m.batch(), 2)),
                "model.accumulation=" + Math.min(m.accumulation(), 2)));
        if (!own) {
            settings.addAll(List.of("data.train=demo", "data.validation=demo"));
        }
        if (!bf16) {
            settings.add("matrices.bf16=false");
        }
        if (!table) {
            settings.add("steps=" + Math.min(c.steps(), steps));
        }
        return ConfigurationFile.with(c, settings.toArray(String[]::new));
    }

    /** @param series of the first that the second takes for its schedule, or null */
    private static Check of(
            Configuration one, Configuration two, String series, int steps, boolean whole, double scale, double bound) {
        List<Taken> a = take(one, steps, scale, null);
        if (series != null && a.size() < steps) {
            throw new Refusal(
                    "the side that is recorded diverges at step " + a.size() + " of the check; lower its rates");
        }
        Source source = series == null ? null : new Source(a, series);
        List<Taken> b = take(two, steps, scale, source);
        double losses = 0, rates = 0, turned = 0;
        Integer first = null;
        boolean named = names(a).equals(names(b));
        int common = Math.min(a.size(), b.size());
        for (int t = 0; t < common; t++) {
            Taken x = a.get(t), y = b.get(t);
            double loss = apart(x.loss(), y.loss()), rate = 0;
            for (int k = 0; k < x.matrices().size(); k++) {
                Step step = x.matrices().get(k);
                rate = named
                        ? Math.max(
                                rate,
                                apart(step.effective(), y.matrices().get(k).effective()))
                        : 0;
                turned += step.angle() / x.matrices().size();
            }
            losses = Math.max(losses, loss);
            rates = Math.max(rates, rate);
            first = first == null && !(Math.max(loss, rate) <= bound) ? (Integer) t : first;
        }
        if (a.size() != b.size()) { // one has diverged
            losses = Double.POSITIVE_INFINITY;
            first = first == null ? (Integer) common : first;
        }
        String what = String.format(
                "%s, %d layers of width %d, %d steps in double precision",
                one.architecture().label(), one.model().layers(), one.model().width(), common);
        return new Check(what, common, whole, losses, named ? (Double) rates : null, null, null, first, turned);
    }

    private static List<Taken> take(Configuration c, int steps, double scale, Source source) {
        List<Taken> taken = Rehearsal.take(c, steps, scale, source);
        if (taken.isEmpty()) {
            throw new Refusal("the check diverges at its first step; lower the rates");
        }
        return taken;
    }

    private static List<String> names(List<Taken> taken) {
        return taken.getFirst().matrices().stream()
                .map(step -> step.next().matrix())
                .toList();
    }

    static double apart(double a, double b) {
        if (a == b) {
            return 0;
        }
        double apart = Math.abs(a - b) / Math.max(Math.abs(a), Math.abs(b));
        return Double.isNaN(apart) ? Double.POSITIVE_INFINITY : apart;
    }

    /** Whether the difference of the other, at lower rates, is smaller than in proportion to how far the matrices turn. */
    boolean shrinksTo(Check lower, double part, double bound) {
        boolean nearer = lower.losses <= bound || lower.losses / lower.turned <= part * losses / turned;
        return nearer && (rates == null || lower.rates <= bound || lower.rates <= part * rates);
    }

    /** One line for people. */
    String text(double bound) {
        String[] names = {"losses", "effective rates", "norms", "nominal rates"};
        Double[] values = {losses, rates, norms, nominal};
        return IntStream.range(0, names.length)
                .filter(i -> values[i] != null)
                .mapToObj(i -> String.format(Locale.ROOT, "of %s %.2g", names[i], values[i]))
                .collect(Collectors.joining(
                        ", ",
                        "check: " + what + "; largest relative difference ",
                        String.format(Locale.ROOT, "; the same below %.1g", bound)));
    }
}
