package hypertransfer.train.run;

import hypertransfer.core.Diverged;
import hypertransfer.core.Schedule;
import hypertransfer.core.Step;
import hypertransfer.engine.Memory;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.optimizer.Optimizer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * What a run would take, measured on a few of its steps; nothing is written.
 *
 * @param engine the engine's name
 * @param trainingTokens in the shards to train on
 * @param steps how many were taken; the first half warms up
 * @param stepSeconds the median of the second half
 * @param validationSeconds of one validation
 */
public record Rehearsal(
        Configuration configuration,
        String engine,
        Memory memory,
        long trainingTokens,
        int steps,
        double stepSeconds,
        double validationSeconds) {
    private static final int MOST = 400, FEW = 6, PATIENCE = 6;

    /** @param matrices what happened to each hidden matrix */
    public record Taken(double loss, List<Step> matrices) {
        public List<String> names() {
            return matrices.stream().map(step -> step.next().matrix()).toList();
        }
    }

    /**
     * The first steps of a run, in memory.
     *
     * @param scale what all rates are multiplied by
     * @param recorded the schedule that it takes, of a run of as many steps; null for its own
     * @return fewer than asked for where it diverges
     */
    public static List<Taken> take(Configuration c, int count, double scale, RecordedRates recorded) {
        List<Taken> taken = new ArrayList<>();
        try (Feed feed = Feed.open(c);
                Session session = Session.open(c)) {
            Optimizer optimizer = session.optimizer();
            ScheduledRates rates = recorded == null
                    ? ScheduledRates.of(c, optimizer.matrices(), told -> {})
                    : ScheduledRates.of(c, optimizer.matrices(), recorded, told -> {});
            double own = recorded == null ? scale : 1; // recorded rates are already those of the scaled run
            Schedule adam = c.adamw().schedule(c.steps());
            for (int t = 0; t < count; t++) {
                if (c.matrices().proxyGrowth() != null) {
                    optimizer.targetNorms(c.matrices().proxyNorm(t, c.steps()));
                }
                session.gradient(feed, t, () -> false);
                double[] scaled = Arrays.stream(rates.at(t)).map(e -> own * e).toArray();
                List<Step> steps = optimizer.step(scaled, rates.decaysAt(t), scale * adam.rate(t), null);
                taken.add(new Taken(session.network().meanLoss(), steps));
            }
        } catch (Diverged e) { // what there is can be compared
        }
        return taken;
    }

    /**
     * Opens data and network as the run would, and takes steps for about so many seconds; a few steps are waited for
     * longer, since the first of them are slower.
     */
    public static Rehearsal of(Configuration c, double seconds) {
        try (Feed feed = Feed.open(c);
                Session session = Session.open(c)) {
            ScheduledRates rates = ScheduledRates.of(c, session.optimizer().matrices(), told -> {});
            Schedule adam = c.adamw().schedule(c.steps());
            session.decide(feed.training(0, 0));
            List<Double> taken = new ArrayList<>();
            long begun = System.nanoTime(), time = (long) (1e9 * seconds), start = begun;
            do {
                int like = Math.min(taken.size(), c.steps() - 1); // a run of one step has rates for that one only
                session.gradient(feed, like, () -> false);
                session.optimizer().step(rates.at(like), rates.decaysAt(like), adam.rate(like), null);
                session.network().meanLoss(); // which waits for the engine
                long now = System.nanoTime();
                taken.add((now - begun) / 1e9);
                begun = now;
            } while (taken.size() < 2
                    || taken.size() < Math.min(MOST, c.steps())
                            && begun - start < (taken.size() < FEW ? PATIENCE : 1) * time);
            session.validate(feed, 1, () -> false); // warms up
            long between = System.nanoTime();
            session.validate(feed, 1, () -> false);
            double[] late = taken.stream()
                    .skip(taken.size() / 2)
                    .mapToDouble(t -> t)
                    .sorted()
                    .toArray();
            return new Rehearsal(
                    c,
                    session.engine().name(),
                    session.memory(),
                    feed.batches().corpus().count(),
                    taken.size(),
                    late[late.length / 2],
                    (System.nanoTime() - between) / 1e9);
        }
    }

    /** All steps and validations of the run. */
    public double seconds() {
        long validations = IntStream.rangeClosed(0, configuration.steps())
                .filter(configuration::validatesBefore)
                .count();
        return configuration.steps() * stepSeconds + validations * validationSeconds;
    }

    /** The tokens that the run reads. */
    public long tokens() {
        return configuration.steps() * configuration.tokensPerStep();
    }
}
