package hypertransfer.train.log;

import hypertransfer.core.Refusal;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.file.Atomic;
import hypertransfer.train.file.Hold;
import hypertransfer.train.log.Run.Change;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * A run held for writing, by one process at a time.
 *
 * @param identity of the lock's file
 */
public record RunLock(Run run, Hold hold, Object identity) implements AutoCloseable {
    private static final String LOCK = "lock";

    /** Refuses to continue where the lock's file was removed: another process could have taken the run meanwhile. */
    public void check() {
        if (!Objects.equals(identity, Atomic.identity(run.file(LOCK)))) {
            throw new Refusal("the file " + run.file(LOCK) + " was removed or replaced while the run was being written;"
                    + " see that no other process writes it, then run the same command again");
        }
    }

    private static RunLock lock(Path path) {
        try {
            Files.createDirectories(path);
            Hold hold = Hold.of(
                    path.resolve(LOCK),
                    () -> new Refusal(
                            "another process is writing the run " + path + "; wait for it, or choose another --out"));
            return new RunLock(new Run(path), hold, Atomic.identity(path.resolve(LOCK)));
        } catch (IOException e) {
            throw new Refusal("cannot write the run's directory " + path + ": " + Atomic.reason(e), e);
        }
    }

    /** A new run; refuses a directory that already holds one. */
    public static RunLock create(Path path, Configuration configuration) {
        RunLock held = lock(path); // first, so that no other can start here meanwhile
        try {
            if (held.run.begun()) {
                throw new Refusal(path + " already holds a run; choose another --out");
            }
            held.configuration(configuration);
            return held;
        } catch (RuntimeException e) {
            held.close();
            throw e;
        }
    }

    /** What the run is trained with from here on. */
    public void configuration(Configuration configuration) {
        Atomic.write(run.file(Run.CONFIGURATION), ConfigurationFile.write(configuration));
    }

    /** Notes what is trained otherwise from this step on; the configuration only has the last values. */
    public void changed(int step, String what) {
        Change now = new Change(step, what);
        List<Change> all = new ArrayList<>(run.changes());
        all.removeIf(other ->
                other.equals(now) || other.step() > step); // once more after a kill; or of steps that are trained again
        all.add(now);
        Atomic.write(
                run.file(Run.CHANGES), all.stream().map(change -> change + "\n").collect(Collectors.joining()));
    }

    /** Whether a process is writing the run now. */
    public static boolean held(Path path) {
        return Hold.held(path.resolve(LOCK));
    }

    public static RunLock open(Path path) {
        new Run(path).configuration();
        return lock(path);
    }

    public void status(RunStatus status) {
        status.write(run.file(Run.STATE));
    }

    public void provenance(Provenance provenance) {
        provenance.write(run.file(Run.PROVENANCE));
    }

    /**
     * Drops what was logged after a checkpoint, so that a step has one line.
     *
     * @param validated whether the checkpoint's own validation stays
     * @param matrices how many hidden matrices the run has
     * @param damaged is told of lines that had to be moved aside
     */
    public void rewind(int step, boolean validated, int matrices, Consumer<String> damaged) {
        Log.cut(
                        run.file(Run.METRICS),
                        run.metrics(),
                        line -> line.step() < step
                                || line.step() == step && validated && line instanceof Line.Validation)
                .ifPresent(damaged);
        Log.cut(run.file(Run.MATRICES), run.matrices(matrices), line -> line.step() < step)
                .ifPresent(damaged);
    }

    @Override
    public void close() {
        hold.close();
    }
}
