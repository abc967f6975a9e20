package hypertransfer.lab.experiment;

import hypertransfer.core.Mode;
import hypertransfer.engine.Dims;
import hypertransfer.engine.Memory;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.network.Preset;
import hypertransfer.train.network.Variant;
import hypertransfer.train.run.Feed;
import hypertransfer.train.run.Trainee;
import java.util.Map;
import java.util.Random;

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
    public record Times(double microMs, double optimizerMs) {
        /** A step of one micro-batch. */
        public double ms() {
            return microMs + optimizerMs;
        }
    }

    /** As {@code ht train} would train it, apart from the data. */
    public Workload(Configuration c) {
        micros = c.model().accumulation();
        trainee = Trainee.open(c, Map.of());
        Dims dims = trainee.engine().dims();
        Random random = new Random(1);
        inputs = random.ints(dims.N(), 0, dims.V()).toArray();
        targets = random.ints(dims.N(), 0, dims.V()).toArray();
        trainee.decide(new Feed.Batch(inputs, targets));
    }

    /** One micro-batch per step of a preset. */
    public static Workload of(Preset preset, Variant network, String engine, Mode mode) {
        return new Workload(ConfigurationFile.of(
                "preset=" + preset.label(),
                "network=" + network,
                "engine=" + engine,
                "matrices.mode=" + mode.label(),
                "model.accumulation=1"));
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
