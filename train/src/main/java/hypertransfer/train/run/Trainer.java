package hypertransfer.train.run;

import hypertransfer.core.Diverged;
import hypertransfer.core.GradientRule;
import hypertransfer.core.Schedule;
import hypertransfer.core.Step;
import hypertransfer.train.config.Configuration;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.ToDoubleFunction;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** Trains one run from where it stands to its last step. */
public final class Trainer {
    private final RunDirectory directory;
    private final Configuration c;
    private final Map<String, String> provenance;
    private final Watcher watcher;
    private int step;
    private double loss = Double.NaN;
    private double validation = Double.NaN;

    /**
     * A run in its directory.
     *
     * @param provenance what should be remembered of the program and the machine
     */
    public Trainer(
            RunDirectory directory, Configuration configuration, Map<String, String> provenance, Watcher watcher) {
        this.directory = directory;
        this.c = configuration;
        this.provenance = provenance;
        this.watcher = watcher;
    }

    /**
     * Trains until the last step, or until it is asked to stop, which it does after saving.
     *
     * @param resume whether to go on from the newest good checkpoint, if there is one
     * @return whether the last step was reached
     */
    public boolean run(boolean resume, BooleanSupplier stop) {
        Map<String, GradientRule> rules =
                c.measuresInvariance() ? Invariance.measure(c).rules() : Map.of();
        try (Feed feed = new Feed(c);
                Trainee trainee = Trainee.open(c, rules)) {
            return written(feed, trainee, resume, stop);
        } catch (RuntimeException e) {
            try {
                directory.state("failed", step, c.steps(), loss, validation, e);
            } catch (UncheckedIOException full) {
                e.addSuppressed(full);
            }
            throw e;
        }
    }

    private boolean written(Feed feed, Trainee trainee, boolean resume, BooleanSupplier stop) {
        try {
            begin(trainee, resume);
            return train(feed, trainee, stop);
        } catch (UncheckedIOException e) { // a full disk, mostly
            throw new UncheckedIOException(e.getMessage() + "; make room, then go on with --resume", e.getCause());
        }
    }

    /** Puts the trainee where the run goes on: a checkpoint of its own, one of another run, or the start. */
    private void begin(Trainee trainee, boolean resume) {
        trainee.engine().decisions(directory.path().resolve(RunDirectory.DECISIONS));
        if (resume && !Checkpoint.list(directory.checkpoints()).isEmpty()) {
            Checkpoint own = Checkpoint.loadNewest(directory.checkpoints(), trainee, watcher::warned);
            step = own.step();
            validation = own.validation() == null ? Double.NaN : own.validation();
        } else if (c.from().run() != null) {
            step = Checkpoint.change(Path.of(c.from().run()), c.from().step(), trainee);
        }
        directory.rewind(step, Double.isFinite(validation));
        ObjectNode node = JsonMapper.shared().createObjectNode();
        provenance.forEach(node::put);
        node.put("engine", trainee.engine().name());
        node.put("parameters", c.architecture().parameters());
        trainee.matrices().forEach(node.putArray("matrices")::add);
        trainee.rules().forEach(rule -> node.withArray("gradient").add(rule.name()));
        directory.provenance(node);
    }

    private boolean train(Feed feed, Trainee trainee, BooleanSupplier stop) {
        Rates rates = new Rates(c, trainee.matrices());
        Schedule adamw = c.adamwSchedule();
        Path path = directory.path();
        int start = step;
        boolean validated = Double.isFinite(validation); // the checkpoint's own step needs no second validation
        try (Series metrics = new Series(path.resolve(RunDirectory.METRICS));
                Series matrices = new Series(path.resolve(RunDirectory.MATRICES));
                Events events = new Events(path, start)) {
            directory.state("running", step, c.steps(), loss, validation, null);
            watcher.started(trainee, step);
            for (; ; step++) {
                if (c.validatesBefore(step) && !(step == start && validated)) {
                    validate(feed, trainee, metrics, events);
                }
                boolean end = step == c.steps(), stopped = !end && stop.getAsBoolean();
                if (end || stopped || step > start && step % c.checkpoint().every() == 0) {
                    metrics.force();
                    matrices.force();
                    save(trainee);
                    String state = end ? "finished" : stopped ? "interrupted" : "running";
                    directory.state(state, step, c.steps(), loss, validation, null);
                }
                if (end || stopped) {
                    return end;
                }
                step(feed, trainee, rates.at(step), adamw.rate(step), metrics, matrices, events);
            }
        }
    }

    private void step(
            Feed feed,
            Trainee trainee,
            double[] rates,
            double adamRate,
            Series metrics,
            Series matrices,
            Events events) {
        long begun = System.nanoTime();
        if (c.matrices().proxyGrowth() != null) {
            trainee.optimizer().prescribe(c.proxy(step));
        }
        feed.gradient(trainee, step);
        List<Step> taken = trainee.optimizer().step(rates, adamRate);
        loss = trainee.network().meanLoss();
        double seconds = (System.nanoTime() - begun) / 1e9;
        long tokens = (step + 1) * c.tokensPerStep();
        if (!(loss <= c.limit())) {
            Step largest = taken.stream()
                    .max(Comparator.comparingDouble(Step::effective))
                    .orElseThrow();
            String matrix = largest.next().matrix();
            throw new Diverged(
                    matrix,
                    step,
                    "the loss is " + loss + " at step " + step + ", above " + c.limit()
                            + ": the run has diverged; the largest effective rate is " + largest.effective() + ", of "
                            + matrix + "; lower the learning rate and start again, or start from a checkpoint"
                            + " with from.run and from.step");
        }
        ObjectNode line = JsonMapper.shared().createObjectNode();
        line.put("step", step).put("loss", loss);
        line.put("rate", rates[0]).put("adam_rate", adamRate);
        line.put("tokens", tokens).put("seconds", seconds);
        metrics.append(line);
        events.scalar(step, "loss/train", loss);
        events.scalar(step, "rate/matrices", rates[0]);
        if (step % c.log().matricesEvery() == 0 || step == c.steps() - 1) {
            ObjectNode arrays = JsonMapper.shared().createObjectNode();
            arrays.put("step", step);
            array(arrays, "norm", taken, Step::norm);
            array(arrays, "target_norm", taken, Step::targetNorm);
            array(arrays, "rate", taken, Step::nominal);
            array(arrays, "effective", taken, Step::effective);
            array(arrays, "angle", taken, Step::angle);
            array(arrays, "implied_decay", taken, Step::impliedDecay);
            matrices.append(arrays);
        }
        watcher.stepped(step, loss, seconds, tokens);
    }

    private static void array(ObjectNode node, String key, List<Step> steps, ToDoubleFunction<Step> value) {
        ArrayNode array = node.putArray(key);
        for (Step step : steps) {
            double number = value.applyAsDouble(step);
            if (Double.isFinite(number)) {
                array.add(number);
            } else {
                array.addNull();
            }
        }
    }

    private void validate(Feed feed, Trainee trainee, Series metrics, Events events) {
        validation = feed.validate(trainee);
        ObjectNode line = JsonMapper.shared().createObjectNode();
        line.put("step", step);
        Series.put(line, "validation", validation);
        metrics.append(line);
        events.scalar(step, "loss/validation", validation);
        watcher.validated(step, validation);
    }

    private void save(Trainee trainee) {
        trainee.requireFinite(step);
        Double measured = c.validatesBefore(step) ? validation : null;
        Path saved = Checkpoint.save(directory.checkpoints(), step, measured, trainee);
        Checkpoint.prune(directory.checkpoints(), step, c.checkpoint().keep());
        watcher.saved(step, saved);
    }

    /** The target's rate of each hidden matrix at each step. */
    private record Rates(Schedule common, List<Schedule> own, int matrices) {
        Rates(Configuration c, List<String> names) {
            this(
                    c.matricesSchedule(),
                    c.matrices().recorded() == null
                            ? List.of()
                            : RecordedRates.read(Path.of(c.matrices().recorded()))
                                    .schedules(names, c.steps()),
                    names.size());
        }

        double[] at(int step) {
            double[] rates = new double[matrices];
            Arrays.setAll(
                    rates, k -> own.isEmpty() ? common.rate(step) : own.get(k).rate(step));
            return rates;
        }
    }
}
