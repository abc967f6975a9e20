package hypertransfer.train.run;

import hypertransfer.core.Diverged;
import hypertransfer.core.GradientRule;
import hypertransfer.core.Schedule;
import hypertransfer.core.Step;
import hypertransfer.engine.ranks.Alone;
import hypertransfer.engine.ranks.Ranks;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.log.FailureKind;
import hypertransfer.train.log.Hold;
import hypertransfer.train.log.Line;
import hypertransfer.train.log.Provenance;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.Standing;
import hypertransfer.train.log.Standing.State;
import hypertransfer.train.ranks.Passport;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;

/** Trains one run from where it stands to its last step. */
public final class Trainer {
    private final Run directory;
    private final Hold hold; // null at other ranks than 0
    private final Ranks ranks;
    private final Configuration c;
    private final Map<String, String> provenance;
    private final Watcher watcher;
    private int step;
    private double loss = Double.NaN;
    private double validation = Double.NaN;

    /**
     * A run in its directory, trained by this process.
     *
     * @param provenance what should be remembered of the program and the machine
     */
    public Trainer(Hold hold, Configuration configuration, Map<String, String> provenance, Watcher watcher) {
        this(hold.run(), hold, new Alone(), configuration, provenance, watcher);
    }

    /**
     * One rank of a run: all of them compute, rank 0 writes.
     *
     * @param hold null at other ranks than 0
     */
    public Trainer(
            Run directory,
            Hold hold,
            Ranks ranks,
            Configuration configuration,
            Map<String, String> provenance,
            Watcher watcher) {
        this.directory = directory;
        this.hold = hold;
        this.ranks = ranks;
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
        try (Feed feed = new Feed(c)) {
            Passport.compare(ranks, facts(feed, resume));
        }
        Map<String, GradientRule> rules =
                c.measuresInvariance() ? Invariance.measure(c).rules() : Map.of();
        try (Feed feed = new Feed(c);
                Trainee trainee = Trainee.open(c, rules, ranks)) {
            return written(feed, trainee, resume, stop);
        } catch (RuntimeException e) {
            try {
                standing(State.FAILED, FailureKind.of(e), e.getMessage());
            } catch (UncheckedIOException full) {
                e.addSuppressed(full);
            }
            throw e;
        }
    }

    /** What all ranks must have in common before they start. */
    private Map<String, String> facts(Feed feed, boolean resume) {
        Map<String, String> facts = new LinkedHashMap<>();
        for (String key : List.of("version", "commit", "jdk")) {
            facts.put(key, provenance.getOrDefault(key, ""));
        }
        facts.putAll(ConfigurationFile.settings(c));
        facts.putAll(feed.sizes());
        List<Path> checkpoints = resume ? directory.checkpoints() : List.of();
        facts.put(
                "the newest checkpoint of " + directory.directory(),
                checkpoints.isEmpty() ? "none" : checkpoints.getFirst().getFileName().toString());
        return facts;
    }

    private boolean written(Feed feed, Trainee trainee, boolean resume, BooleanSupplier stop) {
        try {
            begin(trainee, resume);
            return train(feed, trainee, stop);
        } catch (UncheckedIOException e) { // a full disk, mostly
            throw new UncheckedIOException(e.getMessage() + "; make room, then continue with --resume", e.getCause());
        }
    }

    /** Puts the trainee where the run goes on: a checkpoint of its own, one of another run, or the start. */
    private void begin(Trainee trainee, boolean resume) {
        if (hold != null) {
            trainee.engine().decisions(directory.file(Run.DECISIONS));
        }
        if (resume && !directory.checkpoints().isEmpty()) {
            Checkpoint own = Checkpoint.loadNewest(directory, trainee, watcher::warned);
            step = own.step();
            validation = own.validation() == null ? Double.NaN : own.validation();
        } else if (c.from().run() != null) {
            step = Checkpoint.change(new Run(Path.of(c.from().run())), c.from().step(), trainee);
        }
        Passport.compare(ranks, Map.of("the step to continue from", Integer.toString(step)));
        if (hold != null) {
            record(trainee);
        }
    }

    private void record(Trainee trainee) {
        List<String> matrices = trainee.matrices();
        hold.rewind(step, Double.isFinite(validation), matrices.size(), watcher::warned);
        Map<String, String> facts = new LinkedHashMap<>(provenance);
        facts.put("engine", trainee.engine().name());
        facts.put("parameters", Long.toString(c.architecture().parameters()));
        hold.provenance(new Provenance(
                facts,
                matrices,
                trainee.rules().stream().map(GradientRule::name).toList()));
    }

    private void standing(State state, FailureKind kind, String message) {
        if (hold != null) {
            hold.standing(new Standing(state, step, c.steps(), loss, validation, kind, message));
        }
    }

    private boolean train(Feed feed, Trainee trainee, BooleanSupplier stop) {
        Rates rates = new Rates(c, trainee.matrices());
        Schedule adamw = c.adamwSchedule();
        int start = step;
        boolean validated = Double.isFinite(validation); // the checkpoint's own step needs no second validation
        try (Journal journal = new Journal(hold, start)) {
            standing(State.RUNNING, null, null);
            watcher.started(trainee, step);
            for (; ; step++) {
                if (c.validatesBefore(step) && !(step == start && validated)) {
                    validate(feed, trainee, journal);
                }
                boolean end = step == c.steps(), stopped = !end && ranks.any(stop.getAsBoolean());
                if (end || stopped || step > start && step % c.checkpoint().every() == 0) {
                    journal.force();
                    save(trainee);
                    standing(end ? State.FINISHED : stopped ? State.INTERRUPTED : State.RUNNING, null, null);
                }
                if (end || stopped) {
                    return end;
                }
                step(feed, trainee, rates.at(step), adamw.rate(step), journal);
            }
        }
    }

    private void step(Feed feed, Trainee trainee, double[] rates, double adamRate, Journal journal) {
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
        journal.trained(new Line.Training(step, loss, rates[0], adamRate, tokens, seconds));
        if (step % c.log().matricesEvery() == 0 || step == c.steps() - 1) {
            journal.matrices(Line.Matrices.of(step, taken));
        }
        watcher.stepped(step, loss, seconds, tokens);
    }

    private void validate(Feed feed, Trainee trainee, Journal journal) {
        validation = feed.validate(trainee);
        journal.validated(new Line.Validation(step, validation));
        watcher.validated(step, validation);
    }

    private void save(Trainee trainee) {
        trainee.requireFinite(step);
        Double measured = c.validatesBefore(step) ? validation : null;
        Path saved = Checkpoint.save(directory, step, measured, trainee);
        if (hold != null) {
            Checkpoint.prune(directory, step, c.checkpoint().keep());
        }
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
