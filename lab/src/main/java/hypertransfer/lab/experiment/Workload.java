package hypertransfer.lab.experiment;

import hypertransfer.core.Transfer;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Format;
import hypertransfer.engine.Memory;
import hypertransfer.engine.provider.Engines;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.optimizer.Direction;
import hypertransfer.train.optimizer.Routing;
import hypertransfer.train.run.Trainee;
import java.util.Random;

/** Training steps on random tokens, to be timed: a step is one micro-batch and one step of Muon and AdamW. */
public final class Workload implements AutoCloseable {
    private static final double RATE = 1e-3;

    private final Trainee trainee;
    private final int[] inputs;
    private final int[] targets;

    /** How long the parts of a step took. */
    public record Times(double microMs, double optimizerMs) {
        public double ms() {
            return microMs + optimizerMs;
        }
    }

    public Workload(String engineName, Architecture architecture, int batch, Transfer transfer, boolean recompute) {
        Engine engine = Engines.open(engineName, architecture.dims(batch));
        Routing routing = Routing.standard(muon(engine.weights()), transfer);
        trainee = Trainee.of(engine, architecture, routing, 1, recompute).initialize(1234);
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
        trainee.network().gradient(inputs, targets);
        trainee.network().meanLoss();
        long between = System.nanoTime();
        trainee.optimizer().step(RATE, RATE);
        trainee.engine().zero(trainee.parameters().gradients());
        trainee.network().meanLoss(); // which waits for the engine
        return new Times((between - start) / 1e6, (System.nanoTime() - between) / 1e6);
    }

    @Override
    public void close() {
        trainee.close();
    }
}
