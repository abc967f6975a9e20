package hypertransfer.train.run;

import hypertransfer.core.Diverged;
import hypertransfer.core.GradientRule;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Memory;
import hypertransfer.engine.Motion.Readings;
import hypertransfer.engine.Stopped;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.provider.Engines;
import hypertransfer.engine.ranks.Alone;
import hypertransfer.engine.ranks.Ranks;
import hypertransfer.engine.ranks.Ranks.Transport;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.Matrices;
import hypertransfer.train.log.Line;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Initializer;
import hypertransfer.train.network.Network;
import hypertransfer.train.network.Ownership.Share;
import hypertransfer.train.network.Parameter;
import hypertransfer.train.network.Parameters;
import hypertransfer.train.network.Parameters.Masters;
import hypertransfer.train.optimizer.Optimizer;
import hypertransfer.train.optimizer.Routing;
import hypertransfer.train.ranks.Team;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.IntConsumer;
import java.util.function.UnaryOperator;

/**
 * An engine with a network and its optimizer on it.
 *
 * @param ranks the processes as they were found; the team may exchange tensors by what the engine has for it
 */
public record Session(
        Engine engine,
        Ranks ranks,
        Routing routing,
        Parameters parameters,
        Network network,
        Team team,
        Optimizer optimizer,
        Memory memory)
        implements AutoCloseable {
    /** A loss below this fraction of ln(vocab) means that the network has learned. */
    private static final double KNOWING = 0.9;

    private static Session of(
            Engine engine,
            Ranks ranks,
            Transport transport,
            Architecture architecture,
            Routing routing,
            Masters masters,
            int micros,
            boolean recompute) {
        try {
            Share share = Team.share(ranks, architecture, micros);
            Parameters parameters = new Parameters(engine, architecture, masters, share);
            Network network = new Network(engine, architecture, parameters, micros, recompute);
            Team team = new Team(engine, ranks, engine.transport(ranks, transport), parameters);
            Optimizer optimizer = new Optimizer(engine, parameters, routing, team);
            Memory memory = new Memory(engine.commit().bytes(), team.start());
            return new Session(engine, ranks, routing, parameters, network, team, optimizer, memory);
        } catch (RuntimeException | Error e) {
            engine.close();
            throw e;
        }
    }

    /**
     * Puts a network and its optimizer onto an engine, which from now on is closed with the session, also where it does
     * not fit. It has no weights yet: {@link #initialize} it, or write them and start the optimizer. A step has one
     * micro-batch.
     */
    public static Session of(Engine engine, Architecture architecture, Routing routing) {
        Masters masters = routing.masters(architecture.hidden());
        return of(engine, new Alone(), Transport.AUTO, architecture, routing, masters, 1, false);
    }

    /** Opens the engine and initialises the network as a configuration says. */
    public static Session open(Configuration c) {
        return open(c, engine -> engine);
    }

    /** The same with a door of one's own before the engine. */
    public static Session open(Configuration c, UnaryOperator<Engine> door) {
        return bare(door.apply(engine(c)), c, Map.of(), new Alone()).initialize(c);
    }

    /**
     * The same as one of several ranks, each of which keeps the masters and the optimizer's state of its own share, and
     * without weights: {@link #initialize} it, or load a checkpoint.
     *
     * @param saved the gradient rules that the checkpoint was trained with, if they are not to be the configuration's
     */
    static Session bare(Configuration c, Map<String, GradientRule> saved, Ranks ranks) {
        return bare(engine(c), c, saved, ranks);
    }

    private static Session bare(Engine engine, Configuration c, Map<String, GradientRule> saved, Ranks ranks) {
        Routing routing = c.routing(saved, engine.separateWeights());
        return of(engine, ranks, c, routing, routing.masters(c.architecture().hidden()));
    }

    private static Session of(Engine engine, Ranks ranks, Configuration c, Routing routing, Masters masters) {
        Configuration.Model m = c.model();
        Transport transport = c.ranks().transport();
        return of(engine, ranks, transport, c.architecture(), routing, masters, m.accumulation(), m.recompute());
    }

    /** Draws the weights as a configuration says, and starts the optimizer. */
    Session initialize(Configuration c) {
        Map<String, Matrices> hidden = c.hidden();
        Initializer.initialize(engine, parameters, c.seed());
        for (Parameter p : parameters.own()) {
            if (p.hidden() && hidden.get(p.name()).init() == Matrices.Init.ZERO) {
                engine.write(p.master(), new double[Math.toIntExact(p.master().size())]);
            }
        }
        optimizer.start();
        return this;
    }

    /** The same with every hidden weight kept apart from its master, so that it can be evaluated at other scales. */
    static Session separate(Configuration c) {
        Routing routing = Routing.standard(c.matrices().update(), c.matrices().transfer());
        return of(engine(c), new Alone(), c, routing, Masters.SEPARATE).initialize(c.seed());
    }

    private static Engine engine(Configuration c) {
        return Engines.open(c.opened(), c.architecture().dims(c.model().batch()));
    }

    /** Draws the weights and starts the optimizer. */
    public Session initialize(long seed) {
        Initializer.initialize(engine, parameters, seed);
        optimizer.start();
        return this;
    }

    /** Lets the engine decide by measuring on a micro-batch like those of the run. Of its gradient nothing stays. */
    public void decide(Feed.Batch batch) {
        engine.decide(() -> {
            network.gradient(batch.inputs(), batch.targets());
            team.zero();
        });
    }

    /**
     * The gradient of a step, in the gradients of what this rank owns; its mean loss is the network's afterwards.
     *
     * @param stop asked between micro-batches, of which an optimizer's step may need many, and inside them where no other
     *     rank waits for this one
     * @return false where it was told to stop: the step is then not taken, and nothing of it stays
     */
    boolean gradient(Feed feed, int step, BooleanSupplier stop) {
        team.zero();
        for (int micro = ranks.rank(); micro < feed.batches().micros(); micro += ranks.size()) {
            if (micro >= ranks.size() && ranks.any(stop.getAsBoolean())) {
                return false;
            }
            Feed.Batch batch = feed.training(step, micro);
            int index = micro;
            IntConsumer ready = team.exchanges() ? team::send : null;
            try {
                Stopped.until(
                        ranks.size() == 1 ? stop : () -> false,
                        () -> network.gradient(batch.inputs(), batch.targets(), index, ready));
            } catch (Stopped e) {
                return false;
            }
            team.add();
        }
        team.gather(network.losses());
        return true;
    }

    /**
     * The mean loss over the validation windows. Where the network is evaluated at another scale than the carrier's own, the
     * first window is also evaluated there: one forward pass more per validation. Before the first step the first window is
     * enough, if its loss shows that the network knows nothing yet: that is about ln(vocab), on any text.
     *
     * @param stop asked between windows and inside them
     * @return empty where a rank was told to stop
     */
    Optional<Line.Validation> validate(Feed feed, int step, BooleanSupplier stop) {
        int count = Math.toIntExact(feed.validations());
        double[] losses = losses(feed, step == 0 ? 1 : count, stop);
        if (step == 0
                && losses.length > 0
                && losses[0] < KNOWING * Math.log(engine.dims().V())) {
            losses = losses(feed, count, stop); // it was imported
        }
        if (losses.length == 0) {
            return Optional.empty();
        }
        double sum = 0;
        for (double loss : losses) {
            sum += loss;
        }
        double mean = sum / losses.length;
        if (!optimizer.evaluatesElsewhere()) {
            return Optional.of(new Line.Validation(step, mean));
        }
        try {
            double carrier =
                    optimizer.atCarrier(() -> loss(feed.validation(0), ranks.size() == 1 ? stop : () -> false));
            return Optional.of(new Line.Validation(step, mean, losses[0], carrier));
        } catch (Stopped e) {
            return Optional.empty();
        }
    }

    /** Of the first windows, which the ranks take in turns; none where a rank was told to stop. */
    private double[] losses(Feed feed, int count, BooleanSupplier stop) {
        double[] own = new double[Math.ceilDiv(count - ranks.rank(), ranks.size())];
        boolean stopped = false;
        for (int i = 0; i < own.length && !stopped; i++) {
            stopped = i > 0 && stop.getAsBoolean();
            try {
                own[i] = stopped ? 0 : loss(feed.validation(ranks.rank() + (long) i * ranks.size()), stop);
            } catch (Stopped e) {
                stopped = true;
            }
        }
        double[] losses = team.turns(own, count);
        return ranks.any(stopped) ? new double[0] : losses;
    }

    private double loss(Feed.Batch batch, BooleanSupplier stop) {
        double[] loss = new double[1];
        Stopped.until(stop, () -> loss[0] = loss(batch));
        return loss[0];
    }

    double loss(Feed.Batch batch) {
        return network.loss(batch.inputs(), batch.targets());
    }

    /** The gradient rule of each hidden matrix, in the order of all arrays. */
    Map<String, GradientRule> rules() {
        Map<String, GradientRule> rules = new LinkedHashMap<>();
        optimizer
                .matrices()
                .forEach(m -> rules.put(m.name(), m.rule().transfer().gradient()));
        return rules;
    }

    /** Refuses parameters that are not finite, so that a checkpoint of them is never written. */
    void requireFinite(int step) {
        List<Tensor> masters = parameters.own().stream().map(Parameter::master).toList();
        Readings readings = new Readings(engine.motion().readings(masters, masters));
        String own = "";
        for (int k = 0; k < masters.size() && own.isEmpty(); k++) {
            // Squares of larger numbers are no float32 any more: the network would compute with infinities.
            double most = masters.get(k).numberBytes() == Double.BYTES ? Double.MAX_VALUE : 1e18;
            own = readings.w(k) <= most ? "" : parameters.own().get(k).name() + " " + readings.w(k);
        }
        for (String met : ranks.texts(own)) {
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

    @Override
    public void close() {
        try (engine) {
            if (team.exchange != ranks) {
                team.exchange.close(); // while its memory is still there
            }
        }
    }
}
