package hypertransfer.train.run;

import hypertransfer.core.Transfer;
import hypertransfer.engine.provider.Engines;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.file.SafeTensors;
import hypertransfer.train.file.SafeTensorsWriter;
import hypertransfer.train.log.Run;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/** A run's network at its newest good checkpoint, evaluated where training evaluates it. */
public final class Trained implements AutoCloseable {
    private final Configuration c;
    private final Trainee trainee;
    private final int[] window;
    private final int step;

    private Trained(Configuration c, Trainee trainee, int step) {
        this.c = c;
        this.trainee = trainee;
        this.step = step;
        window = new int[c.model().sequence()];
    }

    /**
     * Loads it on the run's own engine, or on the best there is here.
     *
     * @param passedOver is told of checkpoints that are not good
     */
    public static Trained load(Run run, Consumer<String> passedOver) {
        Configuration trained = run.configuration();
        String engine = Engines.works(trained.engine()) ? trained.engine() : "auto";
        Configuration c = ConfigurationFile.with(trained, "model.batch=1", "model.accumulation=1", "engine=" + engine);
        Trainee trainee = Trainee.open(c, run.provenance().rules());
        try {
            Checkpoint newest = Checkpoint.loadNewest(run, trainee, passedOver);
            return new Trained(c, trainee, newest.step());
        } catch (RuntimeException e) {
            trainee.close();
            throw e;
        }
    }

    public Configuration configuration() {
        return c;
    }

    /** The steps it was trained for. */
    public int step() {
        return step;
    }

    /** The logits of what follows these tokens; of a longer context the last are seen that fit into a sequence. */
    public double[] logits(List<Integer> context) {
        int length = Math.min(window.length, context.size());
        Arrays.fill(window, 0); // what comes after the context is not seen: attention is causal
        for (int i = 0; i < length; i++) {
            window[i] = context.get(context.size() - length + i);
        }
        return trainee.network().logits(window, length - 1);
    }

    @Override
    public void close() {
        trainee.close();
    }

    /**
     * Writes the weights that the network is evaluated at as F32, without an engine.
     *
     * @return the steps the network was trained for
     */
    public static int export(Run run, Path file, Consumer<String> passedOver) {
        Configuration c = run.configuration();
        Transfer t = c.transfer();
        return Checkpoint.newest(
                run,
                numbers -> {
                    Checkpoint checkpoint = Checkpoint.read(numbers);
                    Map<String, Double> scales = run.provenance().rules().entrySet().stream()
                            .collect(Collectors.toMap(
                                    Map.Entry::getKey,
                                    rule -> new Transfer(t.target(), t.carrier(), rule.getValue())
                                            .evaluationScale(checkpoint.state(rule.getKey()))));
                    write(numbers, checkpoint, scales, c, file);
                    return checkpoint.step();
                },
                passedOver);
    }

    private static void write(Path numbers, Checkpoint c, Map<String, Double> scales, Configuration of, Path file) {
        try (SafeTensors tensors = Checkpoint.open(numbers, c)) {
            List<SafeTensorsWriter.Entry> entries = new ArrayList<>();
            for (String name : tensors.names()) {
                if (!name.contains(":")) { // what the optimizer remembers has one
                    int[] shape = tensors.shape(name);
                    double scale = scales.getOrDefault(name, 1.0);
                    entries.add(new SafeTensorsWriter.Entry(
                            name,
                            shape.length == 1 ? 1 : shape[0],
                            shape[shape.length - 1],
                            Float.BYTES,
                            () -> Arrays.stream(tensors.values(name))
                                    .map(value -> scale * value)
                                    .toArray()));
                }
            }
            Map<String, String> metadata = Map.of("network", of.network().name(), "step", Integer.toString(c.step()));
            SafeTensorsWriter.write(file, entries, metadata);
        }
    }
}
