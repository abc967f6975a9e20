package hypertransfer.lab.experiment;

import hypertransfer.core.Transfer;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Format;
import hypertransfer.engine.Memory;
import hypertransfer.engine.provider.Engines;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Initializer;
import hypertransfer.train.network.Network;
import hypertransfer.train.network.Parameters;
import hypertransfer.train.optimizer.Direction;
import hypertransfer.train.optimizer.Optimizer;
import hypertransfer.train.optimizer.Routing;
import java.util.List;
import java.util.Random;

/** Training steps on random tokens, to be timed: a step is one micro-batch and one step of Muon and AdamW. */
public final class Workload implements AutoCloseable {
    private static final double RATE = 1e-3;

    private final Engine engine;
    private final Parameters parameters;
    private final Network network;
    private final Optimizer optimizer;
    private final Memory memory;
    private final int[] inputs;
    private final int[] targets;

    /** How long the parts of a step took. */
    public record Times(double microMs, double optimizerMs) {
        public double ms() {
            return microMs + optimizerMs;
        }
    }

    public Workload(String engineName, Architecture architecture, int batch, Transfer transfer, boolean recompute) {
        engine = Engines.open(engineName, architecture.dims(batch));
        try {
            Routing routing = Routing.standard(muon(engine.weights()), transfer);
            parameters = new Parameters(engine, architecture, routing.masters(List.of("")));
            network = new Network(engine, architecture, parameters, 1, recompute);
            optimizer = new Optimizer(engine, parameters, routing);
            memory = engine.commit();
            Initializer.initialize(engine, parameters, 1234);
            optimizer.start();
        } catch (RuntimeException e) {
            engine.close(); // what does not fit must not leave its threads or its card behind
            throw e;
        }
        Random random = new Random(1);
        inputs = random.ints(engine.dims().N(), 0, engine.dims().V()).toArray();
        targets = random.ints(engine.dims().N(), 0, engine.dims().V()).toArray();
    }

    /** Newton-Schulz in the format that the engine's users take: bfloat16 where the engine trains in it. */
    private static Direction.Muon muon(Format weights) {
        Direction.Muon muon = Direction.Muon.standard();
        return weights == Format.BF16
                ? new Direction.Muon(
                        muon.momentum(), muon.nesterov(), muon.polynomial().inBf16(), muon.shape())
                : muon;
    }

    public int tokens() {
        return inputs.length;
    }

    public Memory memory() {
        return memory;
    }

    public Times step() {
        long start = System.nanoTime();
        network.gradient(inputs, targets);
        network.meanLoss();
        long between = System.nanoTime();
        optimizer.step(RATE, RATE);
        engine.zero(parameters.gradients());
        network.meanLoss(); // which waits for the engine
        return new Times((between - start) / 1e6, (System.nanoTime() - between) / 1e6);
    }

    @Override
    public void close() {
        engine.close();
    }
}
