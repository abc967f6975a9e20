package hypertransfer.train.run;

import hypertransfer.core.Schedule;
import hypertransfer.engine.Memory;
import hypertransfer.train.config.Configuration;
import java.util.ArrayList;
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
    private static final int MOST = 400;

    /** Opens data and network as the run would, and takes steps for about so many seconds. */
    public static Rehearsal of(Configuration c, double seconds) {
        try (Feed feed = Feed.open(c);
                Session session = Session.open(c, Invariance.needed(c))) {
            ScheduledRates rates = ScheduledRates.of(c, session.optimizer().matrices(), told -> {});
            Schedule adam = c.adamw().schedule(c.steps());
            session.decide(feed.training(0, 0));
            List<Double> taken = new ArrayList<>();
            long begun = System.nanoTime(), end = begun + (long) (1e9 * seconds);
            do {
                int like = Math.min(taken.size(), c.steps() - 1); // a run of one step has rates for that one only
                session.gradient(feed, like, () -> false);
                session.optimizer().step(rates.at(like), rates.decaysAt(like), adam.rate(like));
                session.network().meanLoss(); // which waits for the engine
                long now = System.nanoTime();
                taken.add((now - begun) / 1e9);
                begun = now;
            } while (taken.size() < 2 || taken.size() < Math.min(MOST, c.steps()) && begun < end);
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
                    feed.training().count(),
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

    /** The tokens that the run reads, and how often it reads the corpus. */
    public long tokens() {
        return configuration.steps() * configuration.tokensPerStep();
    }
}
