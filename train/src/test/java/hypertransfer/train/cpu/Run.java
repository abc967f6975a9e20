package hypertransfer.train.cpu;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hypertransfer.core.Mode;
import hypertransfer.engine.Checked;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Memory;
import hypertransfer.engine.cpu.CpuEngine;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Initializer;
import hypertransfer.train.network.Network;
import hypertransfer.train.network.Parameters;
import hypertransfer.train.optimizer.Direction;
import hypertransfer.train.optimizer.Optimizer;
import hypertransfer.train.optimizer.Routing;
import java.util.List;
import java.util.Random;

/** A network in training on the cpu engine; nothing stands in for it, unless ht.engine demands another one. */
final class Run implements AutoCloseable {
    final Engine engine;
    final Parameters parameters;
    final Memory memory;
    private final Network network;
    private final Optimizer optimizer;
    private final int[] inputs;
    private final int[] targets;

    Run(Architecture architecture, int batch, int threads) {
        String demanded = System.getProperty("ht.engine", "cpu");
        assumeTrue(demanded.equals("cpu"), "ht.engine demands " + demanded);
        Routing routing = Routing.standard(Direction.Muon.standard(), Mode.HYPERTRANSFER.transfer(0.1));
        engine = new Checked(new CpuEngine(architecture.dims(batch), threads));
        parameters = new Parameters(engine, architecture, routing.masters(List.of("")));
        network = new Network(engine, architecture, parameters);
        optimizer = new Optimizer(engine, parameters, routing);
        memory = engine.commit();
        Initializer.initialize(engine, parameters, 1234);
        optimizer.start();
        Random random = new Random(3);
        inputs = random.ints(engine.dims().N(), 0, engine.dims().V()).toArray();
        targets = random.ints(engine.dims().N(), 0, engine.dims().V()).toArray();
    }

    double step() {
        engine.zero(parameters.gradients());
        network.gradient(inputs, targets);
        optimizer.step(0.01, 0.01);
        return network.meanLoss();
    }

    @Override
    public void close() {
        engine.close();
    }
}
