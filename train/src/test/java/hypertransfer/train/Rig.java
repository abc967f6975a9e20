package hypertransfer.train;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hypertransfer.core.Mode;
import hypertransfer.core.Space;
import hypertransfer.core.Step;
import hypertransfer.core.Transfer;
import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Format;
import hypertransfer.engine.Memory;
import hypertransfer.engine.Motion.Iteration;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.cpu.CpuEngine;
import hypertransfer.engine.door.Checked;
import hypertransfer.engine.provider.Engines;
import hypertransfer.engine.ranks.Alone;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Design;
import hypertransfer.train.network.Initializer;
import hypertransfer.train.network.Network;
import hypertransfer.train.network.Parameter;
import hypertransfer.train.network.Parameters;
import hypertransfer.train.network.Variant;
import hypertransfer.train.optimizer.Direction;
import hypertransfer.train.optimizer.Optimizer;
import hypertransfer.train.optimizer.Routing;
import hypertransfer.train.ranks.Team;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.IntToDoubleFunction;

/** A tiny network, on the reference engine unless it is the cpu's, with gains that are not zero and a fixed micro-batch. */
public final class Rig implements AutoCloseable {
    public static final Transfer MUON = Transfer.plain(new Space.Base(0.1));

    public final Engine engine;
    public final Parameters parameters;
    public final Network network;
    public final Optimizer optimizer;
    public final Memory memory;
    public final int[] inputs;
    public final int[] targets;

    public Rig(Variant variant, Transfer transfer) {
        this(variant, Routing.standard(Direction.Muon.standard(), transfer));
    }

    public Rig(Variant variant, Routing routing) {
        this(architecture(variant, Design.PAPER), routing, 1, false);
    }

    /** Of M1 on the reference engine, which says that its weights are bfloat16; they are not. */
    public static Rig coarse(Routing routing) {
        Architecture architecture = architecture(Variant.M1, Design.PAPER);
        Engine engine = Engines.open("reference", architecture.dims(2));
        Engine coarse = (Engine) Proxy.newProxyInstance(
                Rig.class.getClassLoader(),
                new Class<?>[] {Engine.class},
                (proxy, method, args) ->
                        method.getName().equals("weights") ? Format.BF16 : method.invoke(engine, args));
        return new Rig(coarse, architecture, routing, 1, false);
    }

    /** Of M1 or M2 on the cpu engine; nothing stands in for it, unless ht.engine demands another one. */
    public static Rig cpu(Architecture architecture, int batch, int threads) {
        String demanded = System.getProperty("ht.engine", "cpu");
        assumeTrue(demanded.equals("cpu"), "ht.engine demands " + demanded);
        Routing routing = Routing.standard(Direction.Muon.standard(), Mode.HYPERTRANSFER.transfer(0.1));
        return new Rig(Checked.of(new CpuEngine(architecture.dims(batch), threads)), architecture, routing, 1, false);
    }

    /** The sizes of every other rig. */
    public static Architecture architecture(Variant variant, Design design) {
        return new Architecture(variant, design, 11, 2, 8, 4, 5);
    }

    /** Of another design. */
    public Rig(Architecture architecture, Routing routing, int micros, boolean recompute) {
        this(Engines.open("reference", architecture.dims(2)), architecture, routing, micros, recompute);
    }

    private Rig(Engine engine, Architecture architecture, Routing routing, int micros, boolean recompute) {
        this.engine = engine;
        parameters = new Parameters(engine, architecture, routing.masters(architecture.hidden()));
        network = new Network(engine, architecture, parameters, micros, recompute);
        Alone alone = new Alone();
        optimizer = new Optimizer(engine, parameters, routing, new Team(engine, alone, alone, parameters));
        memory = engine.commit();
        Initializer.initialize(engine, parameters, 7);
        Random random = new Random(11);
        for (Parameter p : parameters.all()) {
            if (!p.hidden()) { // larger than at a real start, so that every gradient is well above rounding
                engine.write(
                        p.master(), random.doubles(p.master().size(), -0.5, 0.5).toArray());
            }
        }
        optimizer.start();
        inputs = random.ints(engine.dims().N(), 0, engine.dims().V()).toArray();
        targets = random.ints(engine.dims().N(), 0, engine.dims().V()).toArray();
    }

    public double loss() {
        return network.loss(inputs, targets);
    }

    public void gradient() {
        engine.zero(parameters.gradients());
        network.gradient(inputs, targets);
    }

    public Parameter parameter(String name) {
        return parameters.all().stream()
                .filter(p -> p.name().equals(name))
                .findFirst()
                .orElseThrow();
    }

    /** The loss with one parameter multiplied by c. */
    public double scaledLoss(Parameter p, double c) {
        return scaledLoss(p, i -> c);
    }

    /** The loss with every number of a parameter multiplied by its own factor. */
    public double scaledLoss(Parameter p, IntToDoubleFunction c) {
        double[] weights = engine.read(p.weight()), scaled = weights.clone();
        Arrays.setAll(scaled, i -> c.applyAsDouble(i) * weights[i]);
        engine.write(p.weight(), scaled);
        double loss = loss();
        engine.write(p.weight(), weights);
        return loss;
    }

    @Override
    public void close() {
        engine.close();
    }

    /** A step, without anything around it that takes memory. */
    public List<Step> step(double rate) {
        gradient();
        return optimizer.step(rate, 0.01);
    }

    /** The losses of some steps; whatever has an effective rate turns by some angle. */
    public double[] losses(int steps, double rate) {
        double[] losses = new double[steps];
        for (int t = 0; t < steps; t++) {
            assertThat(step(rate))
                    .allMatch(step -> Double.isFinite(step.effective()) && step.angle() > 0 == step.effective() > 0);
            losses[t] = network.meanLoss();
        }
        return losses;
    }

    /** Newton-Schulz of one matrix, on the reference engine. */
    public static double[] orthogonalized(double[] x, int rows, int cols, Iteration iteration) {
        try (Engine engine = Engines.open("reference", new Dims(1, 1, 48, 2, 1))) {
            Tensor tensor = engine.tensor(Role.GRADIENT, "x", rows, cols);
            engine.commit();
            engine.write(tensor, x);
            engine.motion().orthogonalize(List.of(tensor), iteration);
            return engine.read(tensor);
        }
    }
}
