package hypertransfer.lab.certify;

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

/**
 * Both sides trained for a few steps in double precision, on a small network with the same routing.
 *
 * @param network what was trained
 * @param steps how many of its steps; the schedules have their whole course in them
 * @param whole whether these are all steps of the sides
 * @param losses the largest relative difference of training losses
 * @param rates the largest relative difference of effective rates; null where the matrices have other names
 * @param first the first step at which either exceeds the bound; null where none does
 * @param clipped whether a gradient was clipped
 * @param turned the mean angle that a matrix turned by in all, to compare differences with
 */
record Check(
        String network,
        int steps,
        boolean whole,
        double losses,
        Double rates,
        Integer first,
        boolean clipped,
        double turned) {

    /** The two small runs, before they are trained. */
    record Pair(Configuration a, Configuration b, String aTakes, String bTakes, int steps, boolean whole) {}

    /**
     * The same two on a network that takes a second. What is small already stays, and so does what a setting needs.
     *
     * @param aTakes the series of B that A takes for its schedule, or null
     * @param bTakes the same of B
     */
    static Pair small(Configuration a, Configuration b, String aTakes, String bTakes, int steps) {
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
                        return new Pair(x, y, aTakes, bTakes, Math.min(steps, x.steps()), whole);
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

    /** @param scale what all rates are multiplied by */
    static Check of(Pair pair, double scale, double bound) {
        List<Taken> a, b;
        if (pair.aTakes == null) {
            a = Rehearsal.take(pair.a, pair.steps, scale, null);
            b = Rehearsal.take(pair.b, pair.steps, scale, source(a, pair.bTakes, pair.steps));
        } else {
            b = Rehearsal.take(pair.b, pair.steps, scale, null);
            a = Rehearsal.take(pair.a, pair.steps, scale, source(b, pair.aTakes, pair.steps));
        }
        String network = pair.a.architecture().label() + ", " + pair.a.model().layers() + " layers of width "
                + pair.a.model().width();
        double losses = 0, rates = 0, turned = 0;
        Integer first = null;
        boolean clipped = false, named = !a.isEmpty() && !b.isEmpty() && names(a).equals(names(b));
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
            clipped |= x.kept() < 1 || y.kept() < 1;
            losses = Math.max(losses, loss);
            rates = Math.max(rates, rate);
            first = first == null && !(Math.max(loss, rate) <= bound) ? (Integer) t : first;
        }
        if (a.size() != b.size()) { // one of them has diverged
            losses = Double.POSITIVE_INFINITY;
            first = first == null ? (Integer) common : first;
        }
        return new Check(network, common, pair.whole, losses, named ? (Double) rates : null, first, clipped, turned);
    }

    /** Recorded steps of as many as the run has; of one that has diverged the last is repeated. */
    private static Source source(List<Taken> steps, String series, int count) {
        if (series == null) {
            return null;
        }
        List<Taken> all = new ArrayList<>(steps);
        while (all.size() < count) {
            all.add(all.getLast());
        }
        return new Source(all, series);
    }

    private static List<String> names(List<Taken> taken) {
        return taken.getFirst().matrices().stream()
                .map(step -> step.next().matrix())
                .toList();
    }

    private static double apart(double a, double b) {
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
}
