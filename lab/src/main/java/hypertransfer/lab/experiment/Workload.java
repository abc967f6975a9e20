package hypertransfer.lab.experiment;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Memory;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.run.Feed;
import hypertransfer.train.run.Trainee;
import java.util.Random;
import java.util.function.UnaryOperator;

/**
 * Training steps on random tokens, to be timed: micro-batches, whose gradients are added in order where there are
 * several, and one step of the optimizer.
 */
public final class Workload implements AutoCloseable {
    private static final double RATE = 1e-3;

    private final Trainee trainee;
    private final int micros;
    private final int[] inputs;
    private final int[] targets;

    /** How long the parts of a step took, one micro-batch and the optimizer. */
    public record Times(double microMs, double optimizerMs) {}

    /** As {@code ht train} would train it, apart from the data. */
    public Workload(Configuration c) {
        this(c, engine -> engine);
    }

    /** The same with a door before the engine, such as {@link hypertransfer.engine.door.Timed}. */
    public Workload(Configuration c, UnaryOperator<Engine> door) {
        micros = c.model().accumulation();
        trainee = Trainee.open(c, door);
        try {
            Dims dims = trainee.engine().dims();
            Random random = new Random(1);
            inputs = random.ints(dims.N(), 0, dims.V()).toArray();
            targets = random.ints(dims.N(), 0, dims.V()).toArray();
            trainee.decide(new Feed.Batch(inputs, targets));
        } catch (RuntimeException | Error e) {
            try (trainee) {
                throw e;
            }
        }
    }

    public int tokens() {
        return inputs.length;
    }

    public Memory memory() {
        return trainee.memory();
    }

    public Times step() {
        long start = System.nanoTime();
        for (int micro = 0; micro < micros; micro++) {
            trainee.network().gradient(inputs, targets, micro);
            trainee.team().add();
        }
        trainee.network().meanLoss();
        long between = System.nanoTime();
        trainee.optimizer().step(RATE, RATE);
        trainee.team().zero();
        trainee.network().meanLoss(); // which waits for the engine
        return new Times((between - start) / 1e6 / micros, (System.nanoTime() - between) / 1e6);
    }

    @Override
    public void close() {
        trainee.close();
    }
}
