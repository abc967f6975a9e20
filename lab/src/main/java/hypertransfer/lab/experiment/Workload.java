package hypertransfer.lab.experiment;

import hypertransfer.core.Transfer;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Format;
import hypertransfer.engine.Memory;
import hypertransfer.engine.provider.Engines;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.optimizer.Direction;
import hypertransfer.train.optimizer.Representation;
import hypertransfer.train.optimizer.Routing;
import hypertransfer.train.run.Trainee;
import java.util.Random;

/**
 * Training steps on random tokens, to be timed: micro-batches, whose gradients are added in order where there are
 * several, and one step of Muon and AdamW, with the masters that {@code ht train} has by default.
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

    /** One micro-batch per step. */
    public Workload(String engineName, Architecture architecture, int batch, Transfer transfer, boolean recompute) {
        this(engineName, architecture, batch, 1, transfer, recompute);
    }

    public Workload(
            String engineName, Architecture architecture, int batch, int micros, Transfer transfer, boolean recompute) {
        this.micros = micros;
        Engine engine = Engines.open(engineName, architecture.dims(batch));
        Routing routing = Routing.standard(muon(engine.weights()), transfer)
                .with(new Representation(engine.separateWeights(), Engine.FULL_GRID, 1));
        trainee = Trainee.of(engine, architecture, routing, micros, recompute).initialize(1234);
        Random random = new Random(1);
        inputs = random.ints(engine.dims().N(), 0, engine.dims().V()).toArray();
        targets = random.ints(engine.dims().N(), 0, engine.dims().V()).toArray();
    }

    /** Newton-Schulz in the format that the engine's users take: bfloat16 where the engine trains in it. */
    private static Direction.Muon muon(Format weights) {
        Direction.Muon muon = Direction.Muon.standard();
        return weights == Format.BF16
                ? new Direction.Muon(
                        muon.momentum(), muon.nesterov(), muon.iteration().inBf16(), muon.shape())
                : muon;
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
