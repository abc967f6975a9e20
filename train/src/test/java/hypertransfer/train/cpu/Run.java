package hypertransfer.train.cpu;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hypertransfer.core.Mode;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Memory;
import hypertransfer.engine.checked.Checked;
import hypertransfer.engine.cpu.CpuEngine;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Parameters;
import hypertransfer.train.optimizer.Direction;
import hypertransfer.train.optimizer.Routing;
import hypertransfer.train.run.Trainee;
import java.util.Random;

/** A network in training on the cpu engine; nothing stands in for it, unless ht.engine demands another one. */
final class Run implements AutoCloseable {
    final Engine engine;
    final Parameters parameters;
    final Memory memory;
    private final Trainee trainee;
    private final int[] inputs;
    private final int[] targets;

    Run(Architecture architecture, int batch, int threads) {
        String demanded = System.getProperty("ht.engine", "cpu");
        assumeTrue(demanded.equals("cpu"), "ht.engine demands " + demanded);
        Routing routing = Routing.standard(Direction.Muon.standard(), Mode.HYPERTRANSFER.transfer(0.1));
        engine = new Checked(new CpuEngine(architecture.dims(batch), threads));
        trainee = Trainee.of(engine, architecture, routing, 1, false).initialize(1234);
        parameters = trainee.parameters();
        memory = trainee.memory();
        Random random = new Random(3);
        inputs = random.ints(engine.dims().N(), 0, engine.dims().V()).toArray();
        targets = random.ints(engine.dims().N(), 0, engine.dims().V()).toArray();
    }

    double step() {
        engine.zero(parameters.gradients());
        trainee.network().gradient(inputs, targets);
        trainee.optimizer().step(0.01, 0.01);
        return trainee.network().meanLoss();
    }

    @Override
    public void close() {
        trainee.close();
    }
}
