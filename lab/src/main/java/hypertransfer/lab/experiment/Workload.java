package hypertransfer.lab.experiment;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.run.Feed;
import hypertransfer.train.run.Session;
import java.util.Random;
import java.util.function.UnaryOperator;

/**
 * Training steps on random tokens, to be timed: micro-batches, whose gradients are added in order where there are
 * several, and one step of the optimizer.
 */
public record Workload(Session session, int micros, int[] inputs, int[] targets) implements AutoCloseable {
    private static final double RATE = 1e-3;

    /** How long the parts of a step took, one micro-batch and the optimizer. */
    public record Times(double microMs, double optimizerMs) {}

    /**
     * As {@code ht train} would train it, apart from the data, with a door before the engine, such as
     * {@link hypertransfer.engine.door.Timed}.
     */
    public static Workload open(Configuration c, UnaryOperator<Engine> door) {
        Session session = Session.open(c, door);
        try {
            Dims dims = session.engine().dims();
            Random random = new Random(1);
            int[] inputs = random.ints(dims.N(), 0, dims.V()).toArray();
            int[] targets = random.ints(dims.N(), 0, dims.V()).toArray();
            session.decide(new Feed.Batch(inputs, targets));
            return new Workload(session, c.model().accumulation(), inputs, targets);
        } catch (RuntimeException | Error e) {
            try (session) {
                throw e;
            }
        }
    }

    public Times step() {
        long start = System.nanoTime();
        for (int micro = 0; micro < micros; micro++) {
            session.network().gradient(inputs, targets, micro, null);
            session.team().add();
        }
        session.network().meanLoss();
        long between = System.nanoTime();
        session.optimizer().step(RATE, RATE);
        session.team().zero();
        session.network().meanLoss(); // which waits for the engine
        return new Times((between - start) / 1e6 / micros, (System.nanoTime() - between) / 1e6);
    }

    @Override
    public void close() {
        session.close();
    }
}
