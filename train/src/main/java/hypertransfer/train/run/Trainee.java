package hypertransfer.train.run;

import hypertransfer.core.GradientRule;
import hypertransfer.core.Transfer;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Memory;
import hypertransfer.engine.provider.Engines;
import hypertransfer.train.network.Initializer;
import hypertransfer.train.network.Network;
import hypertransfer.train.network.Parameter;
import hypertransfer.train.network.Parameters;
import hypertransfer.train.optimizer.Optimizer;
import hypertransfer.train.optimizer.Routing;
import java.util.List;
import java.util.Map;

/** An engine with a network and its optimizer on it, as a configuration describes them. */
public final class Trainee implements AutoCloseable {
    private final Engine engine;
    private final Parameters parameters;
    private final Network network;
    private final Optimizer optimizer;
    private final Routing routing;
    private final Memory memory;

    private Trainee(Configuration c, Engine engine, Routing routing, boolean separate) {
        this.engine = engine;
        this.routing = routing;
        parameters = new Parameters(engine, c.architecture(), separate);
        network = new Network(engine, c.architecture(), parameters, c.model().accumulation());
        optimizer = new Optimizer(engine, parameters, routing);
        memory = engine.commit();
        Initializer.initialize(engine, parameters, c.seed());
        optimizer.start();
    }

    /**
     * Opens the engine and initialises the network from the configuration's seed.
     *
     * @param rules the gradient rules measured for single matrices; empty where the mode's own holds for all
     */
    public static Trainee open(Configuration c, Map<String, GradientRule> rules) {
        Transfer transfer = c.transfer();
        Routing routing = new Routing(
                c.direction(),
                name -> new Transfer(
                        transfer.target(), transfer.carrier(), rules.getOrDefault(name, transfer.gradient())),
                c.adam(),
                c.adamw().decay());
        boolean separate = rules.isEmpty()
                ? transfer.gradient() == GradientRule.REPRESENTATIVE
                : rules.containsValue(GradientRule.REPRESENTATIVE);
        return open(c, routing, separate);
    }

    /** The same with every hidden weight kept apart from its master, so that it can be evaluated at other scales. */
    static Trainee separate(Configuration c) {
        return open(c, Routing.standard(c.direction(), c.transfer()), true);
    }

    private static Trainee open(Configuration c, Routing routing, boolean separate) {
        Engine engine = Engines.open(c.engine(), c.architecture().dims(c.model().batch()));
        try {
            return new Trainee(c, engine, routing, separate);
        } catch (RuntimeException e) {
            engine.close();
            throw e;
        }
    }

    public Engine engine() {
        return engine;
    }

    public Parameters parameters() {
        return parameters;
    }

    public Network network() {
        return network;
    }

    public Optimizer optimizer() {
        return optimizer;
    }

    public Memory memory() {
        return memory;
    }

    /** The names of the hidden matrices, in the order of all arrays. */
    public List<String> matrices() {
        return parameters.hidden().stream().map(Parameter::name).toList();
    }

    /** Which optimizer moves what, for people. */
    public String routingTable() {
        return routing.table(parameters.all());
    }

    @Override
    public void close() {
        engine.close();
    }
}
