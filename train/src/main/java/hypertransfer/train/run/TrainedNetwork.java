package hypertransfer.train.run;

import hypertransfer.core.GradientRule;
import hypertransfer.core.Refusal;
import hypertransfer.core.State;
import hypertransfer.engine.Format;
import hypertransfer.engine.provider.Engines;
import hypertransfer.engine.ranks.Alone;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.config.Matrices;
import hypertransfer.train.file.Atomic;
import hypertransfer.train.file.SafeTensors;
import hypertransfer.train.file.SafeTensorsWriter;
import hypertransfer.train.log.Run;
import hypertransfer.train.network.Dialect;
import hypertransfer.train.network.Foreign;
import hypertransfer.train.network.Outline;
import hypertransfer.train.network.Parameter;
import hypertransfer.train.optimizer.Matrix;
import hypertransfer.train.optimizer.Representation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * A run's network at its newest good checkpoint, evaluated where training evaluates it.
 *
 * @param configuration the run's, for one sequence at a time
 */
public record TrainedNetwork(Configuration configuration, Session session) implements AutoCloseable {
    /**
     * Loads it on the run's own engine, in that engine's own precision, or on the best there is here.
     *
     * @param passedOver is told of checkpoints that are not good
     */
    public static TrainedNetwork load(Run run, Consumer<String> passedOver) {
        Configuration trained = run.configuration();
        String own = trained.engine().replace("-fp8", ""); // eight bits take 128 tokens at once, and not every card
        Configuration c = ConfigurationFile.with(
                trained,
                "model.batch=1",
                "model.accumulation=1",
                "model.precision=auto",
                "engine=" + (Engines.works(own) ? own : "auto"));
        return new Checkpoints(run).newest(passedOver, (checkpoint, tensors) -> {
            Session session = Session.bare(c, rules(run, trained, checkpoint), new Alone());
            try {
                new Snapshot(session).load(checkpoint, tensors, converted -> {}); // nothing continues
                return new TrainedNetwork(c, session);
            } catch (RuntimeException e) {
                session.close();
                throw e;
            }
        });
    }

    /** The gradient rules that the checkpoint was trained with, once its configuration is known to be the run's. */
    private static Map<String, GradientRule> rules(Run run, Configuration c, Checkpoint checkpoint) {
        if (checkpoint.origin() != null) {
            checkpoint.origin().require(c);
            return checkpoint.origin().rules();
        }
        Map<String, GradientRule> rules = run.provenance().rules(); // what older versions have instead
        List<String> names = checkpoint.states().stream().map(State::matrix).toList();
        if (!List.copyOf(rules.keySet()).equals(names)) {
            throw new Refusal(run.file(Run.PROVENANCE) + " names the matrices " + rules.keySet()
                    + ", the checkpoint has " + names + "; the file is damaged, put it back");
        }
        return rules;
    }

    /** The logits of what follows these tokens; of a longer context the last are seen that fit into a sequence. */
    public double[] logits(List<Integer> context) {
        int[] window = new int[configuration.model().sequence()]; // its end is not seen: attention is causal
        int length = Math.min(window.length, context.size());
        for (int i = 0; i < length; i++) {
            window[i] = context.get(context.size() - length + i);
        }
        return session.network().logits(window, length - 1);
    }

    @Override
    public void close() {
        session.close();
    }

    /**
     * Writes the weights that the network is evaluated at as F32.
     *
     * @param dialect the names and forms that another program expects
     * @param step of the checkpoint, or 0 for the weights that the run started with; null for the newest good one
     * @return the steps the network was trained for
     */
    public static int export(Run run, Path file, Dialect dialect, Integer step, Consumer<String> passedOver) {
        Configuration c = run.configuration();
        dialect.require(c.architecture());
        Checkpoints checkpoints = new Checkpoints(run);
        if (step != null
                && step == 0
                && Files.notExists(checkpoints.numbers(0))
                && c.from().run() == null) {
            return first(c, dialect, file);
        }
        BiFunction<Checkpoint, SafeTensors, Integer> write = (checkpoint, tensors) -> {
            write(weights(c, rules(run, c, checkpoint), checkpoint, tensors), c, dialect, checkpoint.step(), file);
            return checkpoint.step();
        };
        return step == null ? checkpoints.newest(passedOver, write) : checkpoints.at(step, write);
    }

    private static int first(Configuration c, Dialect dialect, Path file) {
        try (Session session = Session.open(c)) {
            Map<String, Parameter> all = new HashMap<>();
            session.parameters().all().forEach(p -> all.put(p.name(), p));
            write(name -> session.engine().read(all.get(name).weight()), c, dialect, 0, file);
            return 0;
        }
    }

    /** Tensors as the network sees them: hidden matrices scaled, each part by its own factor, and rounded to the grid. */
    private static Function<String, double[]> weights(
            Configuration c, Map<String, GradientRule> rules, Checkpoint checkpoint, SafeTensors tensors) {
        List<Outline> hidden = c.architecture().hidden();
        boolean exact = tensors.numberBytes(hidden.getFirst().name()) == Double.BYTES;
        Representation how = c.matrices().weights().on(exact);
        Map<String, List<Double>> scales = new HashMap<>(); // of each matrix's parts
        for (Matrix m : Matrix.of(hidden, c.routing(rules, exact), c.model().head())) {
            double scale = how.factor() * m.rule().transfer().evaluationScale(checkpoint.state(m.name()));
            scales.computeIfAbsent(m.whole().name(), whole -> new ArrayList<>()).add(scale);
        }
        Map<String, Matrices> settings = c.hidden();
        return name -> {
            double[] values = tensors.values(name);
            for (Outline matrix : hidden) {
                if (matrix.name().equals(name)) {
                    List<Double> own = scales.get(name);
                    int[] parts =
                            settings.get(name).view().parts(matrix, c.model().head());
                    Arrays.setAll(values, i -> Format.round(own.get(parts[i]) * values[i], how.bits()));
                }
            }
            return values;
        };
    }

    private static void write(Function<String, double[]> ours, Configuration c, Dialect dialect, int step, Path file) {
        String prefix = dialect.prefixes.getFirst();
        List<SafeTensorsWriter.Entry> entries = new ArrayList<>();
        for (Foreign foreign : dialect.tensors(c.architecture())) {
            entries.add(new SafeTensorsWriter.Entry(
                    dialect.name(foreign, prefix),
                    foreign.rows(),
                    foreign.cols(),
                    Float.BYTES,
                    () -> foreign.values(ours)));
        }
        Map<String, String> metadata =
                new TreeMap<>(Map.of("network", c.network().name(), "step", "" + step));
        if (dialect != Dialect.OWN) {
            metadata.put("format", "pt"); // without which the transformers library reads nothing
        }
        SafeTensorsWriter.write(Atomic.placed(file), entries, metadata);
    }
}
