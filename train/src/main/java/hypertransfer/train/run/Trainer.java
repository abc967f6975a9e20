package hypertransfer.train.run;

import hypertransfer.core.Clip;
import hypertransfer.core.Diverged;
import hypertransfer.core.Schedule;
import hypertransfer.core.Step;
import hypertransfer.engine.ranks.Alone;
import hypertransfer.engine.ranks.Ranks;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.file.Atomic;
import hypertransfer.train.log.FailureKind;
import hypertransfer.train.log.Hold;
import hypertransfer.train.log.Line;
import hypertransfer.train.log.Provenance;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.Standing;
import hypertransfer.train.log.Standing.State;
import hypertransfer.train.network.Initializer;
import hypertransfer.train.ranks.Passport;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BooleanSupplier;

/** Trains one run from where it stands to its last step. */
public final class Trainer {
    private final Run directory;
    private final Hold hold; // null at other ranks than 0
    private final Ranks ranks;
    private final Configuration c;
    private final Map<String, String> provenance;
    private final Watcher watcher;
    private Origin origin;
    private int step;
    private double loss = Double.NaN;
    private double validation = Double.NaN;
    private Snapshot.Saving saving; // the checkpoint that is being written beside the training, or null
    private int validated = -1; // the step that the validation loss is of, if that was measured or restored

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
     * @param resume whether to continue from the newest good checkpoint, if there is one
     * @return whether the last step was reached
     */
    public boolean run(boolean resume, BooleanSupplier stop) {
        return run(resume, Set.of(), stop);
    }

    /**
     * The same with a configuration that was changed on purpose.
     *
     * @param changed the keys that may differ from those the checkpoint was trained with
     */
    public boolean run(boolean resume, Set<String> changed, BooleanSupplier stop) {
        if (!resume) {
            Initializer.prepare(c.architecture());
        }
        if (ranks.size() > 1) {
            try (Feed feed = Feed.open(c)) {
                Passport.compare(ranks, facts(feed, resume));
            }
        }
        try (Feed feed = Feed.open(c);
                Trainee trainee = Trainee.bare(c, Invariance.needed(c), ranks)) {
            origin = Origin.of(c, trainee.rules(), feed);
            Invariance.warning(c, trainee.optimizer().matrices()).ifPresent(watcher::warned);
            trainee.engine().remark().ifPresent(watcher::warned);
            begin(trainee, resume, changed);
            return train(feed, trainee, stop);
        } catch (UncheckedIOException e) {
            RuntimeException advised = advised(e);
            fail(advised);
            throw advised;
        } catch (RuntimeException | Error e) {
            fail(e);
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
                checkpoints.isEmpty()
                        ? "none"
                        : checkpoints.getFirst().getFileName().toString());
        return facts;
    }

    private static RuntimeException advised(UncheckedIOException e) {
        String room = FailureKind.of(e) == FailureKind.NO_ROOM ? "; make room, then" : ";";
        return new UncheckedIOException(
                e.getMessage() + room + " run the same command again to continue", e.getCause());
    }

    private void fail(Throwable e) {
        try {
            standing(State.FAILED, FailureKind.of(e), e.getMessage() == null ? e.toString() : e.getMessage());
        } catch (UncheckedIOException full) {
            e.addSuppressed(full);
        }
    }

    /** Puts the trainee where the run continues: a checkpoint of its own, one of another run, or the start. */
    private void begin(Trainee trainee, boolean resume, Set<String> changed) {
        trainee.engine().decisions(decisions());
        if (resume && !directory.checkpoints().isEmpty()) {
            Checkpoint own = new Checkpoints(directory)
                    .newest(
                            (checkpoint, tensors) -> {
                                if (checkpoint.origin() != null) {
                                    checkpoint.origin().require(origin, changed);
                                }
                                return new Snapshot(trainee).load(checkpoint, tensors, watcher::warned);
                            },
                            watcher::warned);
            step = own.step();
            validated = own.validation() == null ? -1 : step;
        } else if (c.from().run() != null) {
            step = new Snapshot(trainee)
                    .continueFrom(
                            directory
                                    .named(c.from().run())
                                    .orElseGet(() -> new Run(Path.of(c.from().run()))),
                            c.from().step(),
                            watcher::warned);
        } else {
            trainee.initialize(c);
        }
        Passport.compare(ranks, Map.of("the step to continue from", Integer.toString(step)));
        if (hold != null) {
            record(trainee);
        }
    }

    /** The run's own file at rank 0; elsewhere a copy of what it holds now, since one process writes a file. */
    private Path decisions() {
        Path file = directory.file(Run.DECISIONS);
        if (hold != null) {
            return file;
        }
        return Atomic.told("copy", file, () -> {
            Path copy = Files.createTempDirectory("ht-rank").resolve(Run.DECISIONS);
            if (Files.exists(file)) {
                Files.copy(file, copy);
            }
            copy.getParent().toFile().deleteOnExit();
            copy.toFile().deleteOnExit();
            return copy;
        });
    }

    private void record(Trainee trainee) {
        hold.rewind(step, validated == step, trainee.matrices().size(), watcher::warned);
        loss = directory
                .metrics()
                .last(Line.Training.class)
                .map(Line.Training::loss)
                .orElse(loss);
        validation = directory
                .metrics()
                .last(Line.Validation.class)
                .map(Line.Validation::loss)
                .orElse(validation);
        Map<String, String> facts = new LinkedHashMap<>(provenance);
        facts.put("engine", trainee.engine().name());
        facts.put("parameters", Long.toString(c.architecture().parameters()));
        facts.put("parameters_without_head", Long.toString(c.architecture().parametersWithoutHead()));
        hold.provenance(new Provenance(facts, origin.rules()));
    }

    private void standing(State state, FailureKind kind, String message) {
        if (hold != null) {
            hold.standing(new Standing(state, step, c.steps(), loss, validation, kind, message));
        }
    }

    private boolean train(Feed feed, Trainee trainee, BooleanSupplier stop) {
        ScheduledRates rates = ScheduledRates.of(c, trainee.optimizer().matrices(), watcher::warned);
        Schedule adamw = c.adamw().schedule(c.steps());
        int start = step;
        try (Journal journal = new Journal(hold, c, trainee.optimizer().matrices(), start)) {
            standing(State.RUNNING, null, null);
            watcher.started(trainee, step);
            trainee.decide(feed.training(0, 0));
            while (true) {
                if (c.matrices().proxyGrowth() != null) {
                    // Also for what is validated and saved here.
                    trainee.optimizer().targetNorms(c.matrices().proxyNorm(step, c.steps()));
                }
                boolean known = !c.validatesBefore(step) || validated == step || validate(feed, trainee, journal, stop);
                boolean end = known && step == c.steps(), stopped = !known || !end && ranks.any(stop.getAsBoolean());
                if (saving != null && saving.done()) {
                    saved();
                }
                if (end || stopped || step > start && step % c.checkpoint().every() == 0) {
                    saved();
                    journal.force();
                    if (hold != null) {
                        hold.check();
                    }
                    save(trainee);
                    stopped |= !end && !stopped && ranks.any(stop.getAsBoolean()); // told while it was copied
                }
                if (end || stopped) {
                    saved();
                    standing(end ? State.FINISHED : State.INTERRUPTED, null, null);
                    clipped();
                    return end;
                }
                if (step(feed, trainee, rates, adamw.rate(step), journal, stop)) {
                    step++;
                }
            }
        } catch (RuntimeException | Error e) {
            try {
                saved(); // what was good before stays good
            } catch (RuntimeException second) {
                e.addSuppressed(second);
            }
            throw e;
        }
    }

    /** Tells how often gradients were clipped in the whole run, and how much. */
    private void clipped() {
        if (hold == null || !c.clip().any()) {
            return;
        }
        double[] all = directory
                .metrics()
                .lines(Line.Training.class)
                .mapToDouble(Line.Training::kept)
                .toArray();
        double[] clipped = Arrays.stream(all).filter(kept -> kept < 1).toArray();
        watcher.clipped(
                clipped.length, all.length, Arrays.stream(clipped).average().orElse(1));
    }

    /** Takes a step; false where it was told to stop before the step changed anything. */
    private boolean step(
            Feed feed, Trainee trainee, ScheduledRates rates, double adamRate, Journal journal, BooleanSupplier stop) {
        long begun = System.nanoTime();
        if (!trainee.gradient(feed, step, stop)) {
            return false;
        }
        boolean measured = c.log().radial(step, c.steps());
        double[] radial = measured ? trainee.optimizer().radial() : null; // the step turns gradients into directions
        List<Step> taken = trainee.optimizer().step(rates.at(step), rates.decaysAt(step), adamRate);
        loss = trainee.network().meanLoss();
        double seconds = (System.nanoTime() - begun) / 1e9;
        long tokens = (step + 1) * c.tokensPerStep();
        if (!(loss <= c.lossLimit())) {
            Step largest = taken.stream()
                    .max(Comparator.comparingDouble(Step::effective))
                    .orElseThrow();
            String matrix = largest.next().matrix();
            throw new Diverged(
                    matrix,
                    step,
                    "the loss is " + rounded(loss) + " at step " + step + ", above " + rounded(c.lossLimit())
                            + ": the run has diverged; the largest effective rate is "
                            + rounded(largest.effective()) + ", of "
                            + matrix + "; lower the learning rate and start again, or start from a checkpoint"
                            + " with from.run and from.step");
        }
        Clip.Outcome clipped = trainee.optimizer().clipped();
        journal.add(new Line.Training(
                step, loss, rates.at(step)[0], adamRate, tokens, clipped.norm(), clipped.kept(), seconds));
        if (c.log().matrices(step, c.steps())) {
            journal.add(Line.Matrices.of(step, taken, radial));
        }
        watcher.stepped(step, loss, seconds, tokens);
        return true;
    }

    /** Measures the validation loss; false where it was told to stop before it had all of it. */
    private boolean validate(Feed feed, Trainee trainee, Journal journal, BooleanSupplier stop) {
        Optional<Line.Validation> measured = trainee.validate(feed, step, stop);
        if (measured.isEmpty()) {
            return false;
        }
        validation = measured.get().loss();
        validated = step;
        journal.add(measured.get());
        watcher.validated(step, validation);
        if (!(validation <= c.lossLimit())) {
            throw new Diverged(
                    null,
                    step,
                    "the validation loss is " + rounded(validation) + " before step " + step + ", above "
                            + rounded(c.lossLimit())
                            + ": the run has diverged; lower the learning rate and start again");
        }
        return true;
    }

    /** For a sentence; the logs have every digit. */
    private static String rounded(double value) {
        return String.format(Locale.ROOT, "%.5g", value);
    }

    /** Begins a checkpoint, which is written while the next steps are taken. */
    private void save(Trainee trainee) {
        trainee.requireFinite(step);
        Double measured = validated == step ? validation : null;
        saving = new Snapshot(trainee).begin(directory, step, measured, origin);
    }

    /** Waits for the checkpoint that is being written, if there is one; what kept it from being written is thrown here. */
    private void saved() {
        if (saving == null) {
            return;
        }
        Snapshot.Saving ended = saving;
        saving = null;
        Path numbers = ended.finish();
        if (hold != null) {
            new Checkpoints(directory).prune(ended.step(), c.checkpoint().keep());
        }
        watcher.saved(ended.step(), numbers);
        standing(State.RUNNING, null, null);
    }
}
