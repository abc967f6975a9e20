package hypertransfer.train.run;

import hypertransfer.core.Diverged;
import hypertransfer.core.GradientRule;
import hypertransfer.core.Transfer;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Memory;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.provider.Engines;
import hypertransfer.engine.ranks.Alone;
import hypertransfer.engine.ranks.Ranks;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.network.Initializer;
import hypertransfer.train.network.Masters;
import hypertransfer.train.network.Network;
import hypertransfer.train.network.Parameter;
import hypertransfer.train.network.Parameters;
import hypertransfer.train.network.Share;
import hypertransfer.train.optimizer.Optimizer;
import hypertransfer.train.optimizer.Routing;
import hypertransfer.train.ranks.Team;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** An engine with a network and its optimizer on it, as a configuration describes them. */
public final class Trainee implements AutoCloseable {
    private final Engine engine;
    private final Parameters parameters;
    private final Network network;
    private final Team team;
    private final Optimizer optimizer;
    private final Routing routing;
    private final Memory memory;

    private Trainee(Configuration c, Engine engine, Ranks ranks, Routing routing, Masters masters) {
        this.engine = engine;
        this.routing = routing;
        Share share = Team.share(ranks, c.architecture(), c.model().accumulation());
        parameters = new Parameters(engine, c.architecture(), masters, share);
        network = new Network(
                engine,
                c.architecture(),
                parameters,
                c.model().accumulation(),
                c.model().recompute());
        team = new Team(engine, ranks, parameters);
        optimizer = new Optimizer(engine, parameters, routing, team);
        memory = engine.commit();
        team.start();
        Initializer.initialize(engine, parameters, c.seed());
        optimizer.start();
    }

    /**
     * Opens the engine and initialises the network from the configuration's seed.
     *
     * @param rules the gradient rules measured for single matrices; empty where the mode's own holds for all
     */
    public static Trainee open(Configuration c, Map<String, GradientRule> rules) {
        return open(c, rules, new Alone());
    }

    /** The same as one of several ranks, each of which keeps the masters and the optimizer's state of its own share. */
    public static Trainee open(Configuration c, Map<String, GradientRule> rules, Ranks ranks) {
        Transfer transfer = c.transfer();
        return open(c, engine -> {
            Routing routing = new Routing(
                    c.direction(),
                    name -> new Transfer(
                            transfer.target(), transfer.carrier(), rules.getOrDefault(name, transfer.gradient())),
                    c.adam(),
                    c.adamw().decay(),
                    c.representation(engine.separateWeights()));
            List<String> names = rules.isEmpty() ? List.of("") : List.copyOf(rules.keySet());
            return new Trainee(c, engine, ranks, routing, routing.masters(names));
        });
    }

    /** The same with every hidden weight kept apart from its master, so that it can be evaluated at other scales. */
    static Trainee separate(Configuration c) {
        Routing routing = Routing.standard(c.direction(), c.transfer());
        return open(c, engine -> new Trainee(c, engine, new Alone(), routing, Masters.SEPARATE));
    }

    private static Trainee open(Configuration c, Function<Engine, Trainee> trainee) {
        Engine engine = Engines.open(c.engine(), c.architecture().dims(c.model().batch()));
        try {
            return trainee.apply(engine);
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

    public Team team() {
        return team;
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

    /** The gradient rules of the hidden matrices, in the order of all arrays. */
    List<GradientRule> rules() {
        return matrices().stream()
                .map(name -> routing.transfer().apply(name).gradient())
                .toList();
    }

    /** Whether a hidden matrix is its own target. */
    boolean plain(String matrix) {
        return routing.transfer().apply(matrix).isPlain();
    }

    /** Multiplies a hidden matrix; the optimizer must be told. */
    void scale(String matrix, double factor) {
        for (Parameter p : parameters.own()) {
            if (p.name().equals(matrix)) {
                double[] values = engine.read(p.master());
                engine.write(
                        p.master(), Arrays.stream(values).map(v -> factor * v).toArray());
            }
        }
    }

    /** Refuses parameters that are not finite, so that a checkpoint of them is never written. */
    void requireFinite(int step) {
        List<Tensor> masters = parameters.own().stream().map(Parameter::master).toList();
        double[] readings = engine.readings(masters, masters);
        int first = masters.size();
        for (int k = masters.size() - 1; k >= 0; k--) {
            first = Double.isFinite(readings[3 * k]) ? first : k;
        }
        boolean finite = first == masters.size();
        String own = finite ? "" : parameters.own().get(first).name() + " " + readings[3 * first];
        for (String met : team.ranks().texts(own)) {
            if (!met.isEmpty()) {
                String name = met.split(" ")[0], norm = met.split(" ")[1];
                throw new Diverged(
                        name,
                        step,
                        name + " at step " + step + ": its norm is " + norm
                                + ": the run has diverged; lower the learning rate");
            }
        }
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
