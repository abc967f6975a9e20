package hypertransfer.train.run;

import hypertransfer.core.Clip;
import hypertransfer.core.Diverged;
import hypertransfer.core.Schedule;
import hypertransfer.core.Step;
import hypertransfer.engine.ranks.Ranks;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.file.Atomic;
import hypertransfer.train.log.FailureKind;
import hypertransfer.train.log.Line;
import hypertransfer.train.log.Provenance;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.RunLock;
import hypertransfer.train.log.RunStatus;
import hypertransfer.train.log.RunStatus.State;
import hypertransfer.train.optimizer.Representation;
import hypertransfer.train.ranks.Agreement;
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
import java.util.stream.Stream;

/** Trains one run from where it stands to its last step. */
public final class Trainer {
    private final Run directory;
    private final RunLock lock; // null at other ranks than 0
    private final Ranks ranks;
    private final Configuration c;
    private final Map<String, String> provenance;
    private final Watcher watcher;
    private Origin origin;
    private boolean accepted; // whether the run's files may be changed: until then a resume can still be refused
    private int step;
    private String before; // the number of steps that the checkpoint was trained for; null where none is known
    private double loss = Double.NaN;
    private double validation = Double.NaN;
    private Journal journal; // null at other ranks than 0
    private Snapshot.Saving saving; // the checkpoint that is being written beside the training, or null
    private int validated = -1; // the step that the validation loss is of, if that was measured or restored

    /**
     * One rank of a run: all of them compute, rank 0 writes.
     *
     * @param lock null at other ranks than 0
     * @param provenance what should be remembered of the program and the machine
     */
    public Trainer(
            Run directory,
            RunLock lock,
            Ranks ranks,
            Configuration configuration,
            Map<String, String> provenance,
            Watcher watcher) {
        this.directory = directory;
        this.lock = lock;
        this.ranks = ranks;
        this.c = configuration;
        this.provenance = provenance;
        this.watcher = watcher;
    }

    /** The steps that are taken. */
    int step() {
        return step;
    }

    /**
     * Trains until the last step, or until it is asked to stop, which it does after saving.
     *
     * @param resume whether to continue from the newest good checkpoint, if there is one
     * @param changed the keys that may differ from those the checkpoint was trained with
     * @return whether the last step was reached
     */
    public boolean run(boolean resume, Set<String> changed, BooleanSupplier stop) {
        accepted = !resume;
        try (Feed feed = Feed.open(c);
                Session session = agreed(feed, resume)) {
            origin = Origin.of(c, session, feed);
            Invariance.warning(c, session.optimizer().matrices()).ifPresent(watcher::warned);
            directory.named(c.target()).flatMap(this::apart).ifPresent(watcher::warned);
            session.engine().remark().ifPresent(watcher::warned);
            begin(session, resume, changed);
            return train(feed, session, stop);
        } catch (UncheckedIOException e) {
            String room = FailureKind.of(e) == FailureKind.NO_ROOM ? "; make room, then" : ";";
            String advice = e.getMessage() + room + " run the same command again to continue";
            UncheckedIOException advised = new UncheckedIOException(advice, e.getCause());
            fail(advised);
            throw advised;
        } catch (RuntimeException | Error e) {
            fail(e);
            throw e;
        }
    }

    /** Why the losses of this run will be near those of the run that it follows, and not the same to the last bit. */
    private Optional<String> apart(Run target) {
        Optional<Origin> before = new Checkpoints(target).origin().filter(its -> !its.sameMachine(origin));
        if (before.isPresent()) {
            return Optional.of("the run that this one follows was trained with "
                    + before.get().machine() + ", and this machine has " + origin.machine()
                    + ": their losses will be close, not the same to the last bit");
        }
        return c.matrices().weights().master() == Representation.Master.FLOAT64
                ? Optional.empty()
                : Optional.of("matrices.master is "
                        + c.matrices().weights().master().name().toLowerCase(Locale.ROOT)
                        + ": the losses will be close to those of the run that this one follows, not the same to the last"
                        + " bit, which needs float64 in both");
    }

    /** A session without weights, once all ranks are known to train the same. */
    private Session agreed(Feed feed, boolean resume) {
        Agreement.compare(ranks, facts(feed, resume));
        return Session.bare(c, Map.of(), ranks);
    }

    /** What all ranks must have in common before they start. */
    private Map<String, String> facts(Feed feed, boolean resume) {
        Map<String, String> facts = new LinkedHashMap<>();
        for (String key : List.of("version", "commit", "jdk")) {
            facts.put(key, provenance.getOrDefault(key, ""));
        }
        facts.putAll(ConfigurationFile.settings(c));
        facts.put("the tokens of data.train", "" + feed.batches().corpus().count());
        facts.put("the tokens of data.validation", "" + feed.held().corpus().count());
        List<Path> checkpoints = resume ? directory.checkpoints() : List.of();
        String newest =
                checkpoints.isEmpty() ? "none" : "" + checkpoints.getFirst().getFileName();
        facts.put("the newest checkpoint of " + directory.directory(), newest);
        return facts;
    }

    private void fail(Throwable e) {
        if (!accepted && FailureKind.of(e) == FailureKind.BAD_INPUT) {
            return; // the command was refused, and the run is as it was
        }
        try {
            status(State.FAILED, FailureKind.of(e), e.getMessage() == null ? e.toString() : e.getMessage());
        } catch (UncheckedIOException full) {
            e.addSuppressed(full);
        }
    }

    /** Puts the session where the run continues: a checkpoint of its own, one of another run, or the start. */
    private void begin(Session session, boolean resume, Set<String> changed) {
        String changes = "";
        session.engine().decisions(decisions());
        if (resume && !directory.checkpoints().isEmpty()) {
            Checkpoint own = new Checkpoints(directory).newest(watcher::warned, (checkpoint, tensors) -> {
                if (checkpoint.origin() != null) {
                    checkpoint.origin().require(origin, changed);
                }
                return new Snapshot(session).load(checkpoint, tensors, watcher::warned);
            });
            step = own.step();
            if (own.origin() != null) {
                before = own.origin().settings().get("steps");
                changes = own.origin().changes(origin, step, c.steps());
            }
            validated = own.validation() == null ? -1 : step;
        } else if (c.from().run() != null) {
            String name = c.from().run();
            Run other = directory.named(name).orElseGet(() -> new Run(Path.of(name)));
            step = c.from().step();
            new Snapshot(session).continueFrom(other, step, watcher::warned);
        } else {
            session.initialize(c);
        }
        Agreement.compare(ranks, Map.of("the step to continue from", Integer.toString(step)));
        accepted = true;
        if (lock != null) {
            record(session);
            if (!changes.isEmpty()) {
                lock.changed(step, changes);
            }
            if (!changed.isEmpty()) {
                lock.configuration(c);
            }
        }
    }

    /**
     * The run's own file at rank 0; elsewhere a copy of what it holds now, since one process writes a file. A run begins
     * with the choices of the one that it follows: by other ones no two bits need agree.
     */
    private Path decisions() {
        Path file = directory.file(Run.DECISIONS);
        Path chosen = directory.checkpoints().isEmpty() && !Files.exists(file)
                ? directory.target().map(run -> run.file(Run.DECISIONS)).orElse(file)
                : file;
        return Atomic.told("copy", chosen, () -> {
            if (lock != null) {
                if (chosen != file && Files.exists(chosen)) {
                    Atomic.write(file, Files.readString(chosen));
                }
                return file;
            }
            Path copy = Files.createTempDirectory("ht-rank").resolve(Run.DECISIONS);
            if (Files.exists(chosen)) {
                Files.copy(chosen, copy);
            }
            copy.getParent().toFile().deleteOnExit();
            copy.toFile().deleteOnExit();
            return copy;
        });
    }

    private void record(Session session) {
        lock.rewind(step, validated == step, session.optimizer().matrices().size(), watcher::warned);
        directory.metrics().last(Line.Training.class).ifPresent(line -> loss = line.loss());
        directory.metrics().last(Line.Validation.class).ifPresent(line -> validation = line.loss());
        Map<String, String> facts = new LinkedHashMap<>(provenance);
        facts.put("engine", session.engine().name());
        facts.put("arithmetic", session.engine().provenance());
        facts.put("parameters", Long.toString(c.architecture().parameters()));
        facts.put("parameters_without_head", Long.toString(c.architecture().parametersWithoutHead()));
        lock.provenance(new Provenance(facts, origin.rules()));
    }

    private void status(State state, FailureKind kind, String message) {
        if (lock != null) {
            lock.status(new RunStatus(state, step, c.steps(), loss, validation, kind, message));
        }
    }

    private boolean train(Feed feed, Session session, BooleanSupplier stop) {
        ScheduledRates rates = ScheduledRates.of(c, session.optimizer().matrices(), watcher::warned);
        Schedule adamw = c.adamw().schedule(c.steps());
        int start = step;
        if (before != null && !before.equals(Integer.toString(c.steps())) && step < c.steps()) {
            refitted(rates.at(step)[0]);
        }
        try (Journal files = lock == null
                ? null
                : new Journal(directory, c, session.optimizer().matrices(), start)) {
            journal = files;
            status(State.RUNNING, null, null);
            watcher.started(session, step);
            session.decide(feed.training(0, 0));
            while (true) {
                if (c.matrices().proxyGrowth() != null) {
                    // Also for what is validated and saved here.
                    session.optimizer().targetNorms(c.matrices().proxyNorm(step, c.steps()));
                }
                boolean known = !c.validatesBefore(step) || validated == step || validate(feed, session, stop);
                boolean end = known && step == c.steps(), stopped = !known || !end && ranks.any(stop.getAsBoolean());
                if (saving != null && saving.file().done()) {
                    saved();
                }
                if (end || stopped || step > start && step % c.checkpoint().every() == 0) {
                    saved();
                    if (lock != null) {
                        journal.force();
                        lock.check();
                    }
                    session.requireFinite(step);
                    Double measured = validated == step ? validation : null;
                    saving = new Snapshot(session).begin(directory, step, measured, origin);
                    stopped |= !end
                            && !stopped
                            && ranks.any(stop.getAsBoolean()); // a stop may have arrived during the copy
                }
                if (end || stopped) {
                    saved();
                    status(end ? State.FINISHED : State.INTERRUPTED, null, null);
                    clipped();
                    return end;
                }
                if (step(feed, session, rates, adamw.rate(step), stop)) {
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

    /** Tells what another number of steps makes of the rate: a finished run continues at one it had long left. */
    private void refitted(double now) {
        Line.Training last = directory.metrics().last(Line.Training.class).orElse(null);
        if (last != null && last.rate() != now) {
            watcher.warned("steps was " + before + ", is " + c.steps() + ": all schedules now end there, so the"
                    + " rate of hidden matrices goes from " + rounded(last.rate()) + " at step " + last.step() + " to "
                    + rounded(now) + " at step " + step + "; set matrices.rate and adamw.rate to continue at another,"
                    + " or train all " + c.steps() + " steps anew with another --out");
        }
    }

    /** Tells how often gradients were clipped in the whole run, and how much. */
    private void clipped() {
        if (lock == null || !c.clip().any()) {
            return;
        }
        Stream<Line.Training> taken = directory.metrics().lines(Line.Training.class);
        double[] all = taken.mapToDouble(Line.Training::kept).toArray();
        double[] clipped = Arrays.stream(all).filter(kept -> kept < 1).toArray();
        watcher.clipped(
                clipped.length, all.length, Arrays.stream(clipped).average().orElse(1));
    }

    /** Takes a step; false where it was told to stop before the step changed anything. */
    private boolean step(Feed feed, Session session, ScheduledRates rates, double adamRate, BooleanSupplier stop) {
        long begun = System.nanoTime();
        if (!session.gradient(feed, step, stop)) {
            return false;
        }
        boolean measured = c.log().radial(step, c.steps());
        double[] radial = measured ? session.optimizer().radial() : null; // the step turns gradients into directions
        List<Step> taken = session.optimizer().step(rates.at(step), rates.decaysAt(step), adamRate, radial);
        loss = session.network().meanLoss();
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
                            + ": the run has diverged; the largest effective rate of hidden matrices is "
                            + rounded(largest.effective()) + ", of " + matrix + ", and AdamW's rate for all else "
                            + rounded(adamRate) + "; lower " + blamed(matrix, largest.effective(), adamRate)
                            + " and start again, or start from a checkpoint with from.run and from.step");
        }
        if (c.log().matrices(step, c.steps())) {
            log(Line.Matrices.of(step, taken, radial));
        }
        Clip.Outcome clipped = session.optimizer().clipped();
        log(new Line.Training(
                step, loss, rates.at(step)[0], adamRate, tokens, clipped.norm(), clipped.kept(), seconds));
        return true;
    }

    /** The key whose rate moved its parameters furthest: a step of AdamW moves every number by its rate. */
    private String blamed(String matrix, double effective, double adamRate) {
        if (adamRate > effective) {
            return "adamw.rate (" + c.adamw().rate() + ")";
        }
        double own = c.hidden().get(matrix.replaceFirst("#\\d+", "")).rate();
        String key = own == c.matrices().rate() ? "matrices.rate" : "the rate of its group in matrices.groups";
        return key + " (" + own + ")";
    }

    /** Measures the validation loss; false where it was told to stop before it had all of it. */
    private boolean validate(Feed feed, Session session, BooleanSupplier stop) {
        Optional<Line.Validation> measured = session.validate(feed, step, stop);
        if (measured.isEmpty()) {
            return false;
        }
        validation = measured.get().loss();
        validated = step;
        log(measured.get());
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

    private void log(Line line) {
        if (journal != null) {
            journal.add(line);
        }
        watcher.logged(line);
    }

    /** For a sentence; the logs have every digit. */
    private static String rounded(double value) {
        return String.format(Locale.ROOT, "%.5g", value);
    }

    /** Waits for the checkpoint that is being written, if there is one; what kept it from being written is thrown here. */
    private void saved() {
        if (saving == null) {
            return;
        }
        Snapshot.Saving ended = saving;
        saving = null;
        ended.finish();
        new Checkpoints(directory).prune(ended.record().step(), c.checkpoint().keep());
        status(State.RUNNING, null, null);
    }
}
