package hypertransfer.lab.experiment;

import hypertransfer.core.Refusal;
import hypertransfer.engine.provider.Engines;
import hypertransfer.engine.ranks.Ranks;
import hypertransfer.lab.terminal.Ink;
import hypertransfer.lab.terminal.Interrupt;
import hypertransfer.lab.terminal.StepLine;
import hypertransfer.lab.terminal.Width;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.file.Atomic;
import hypertransfer.train.file.Folder;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.RunLock;
import hypertransfer.train.log.RunStatus;
import hypertransfer.train.optimizer.Representation;
import hypertransfer.train.run.Checkpoint;
import hypertransfer.train.run.Trainer;
import hypertransfer.train.run.Watcher;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Trains one run in its directory, with its lines on a writer.
 *
 * @param brief whether the tables of memory and routing are left out, as for one run of many
 * @param ranks the processes that train it together
 */
public record Launch(Path directory, Configuration configuration, boolean brief, PrintWriter out, Ranks ranks) {
    /** Weights, gradients and one momentum: what every run needs at least. */
    private static final int COPIES = 3;

    /**
     * Trains; returns whether the last step was reached, or the run was interrupted before.
     *
     * @param changed the keys of the configuration that were changed on purpose, when the run is resumed
     */
    public boolean run(Interrupt stop, Set<String> changed) {
        boolean resume = new Run(directory).begun();
        if (resume && changed.isEmpty() && finished() && (brief || whole())) { // of one run of many the losses count
            resumable(directory, configuration);
            out.println(directory + " is already finished; to train it again, choose another --out");
            return true;
        }
        Configuration c = chosen();
        requireRoom(c);
        boolean first = ranks.rank() == 0, ours = first && Files.notExists(directory);
        try (RunLock held = first ? lock(c, resume, changed) : null) {
            return first
                    ? train(held, c, resume, changed, stop)
                    : new Trainer(new Run(directory), null, ranks, c, provenance(), new Watcher() {})
                            .run(resume, changed, stop);
        } catch (RuntimeException | Error e) {
            if (ours && !new Run(directory).begun() && !RunLock.held(directory)) { // another may have begun there since
                remove(directory, e);
            }
            throw e;
        } finally {
            stop.rest();
        }
    }

    private boolean finished() {
        try {
            return new Run(directory).status().state() == RunStatus.State.FINISHED;
        } catch (Refusal damaged) { // to continue the run writes it again
            return false;
        }
    }

    /** Whether the last weights are there and good; where they are not, the run continues from the checkpoint before. */
    private boolean whole() {
        List<Path> checkpoints = new Run(directory).checkpoints();
        if (checkpoints.isEmpty()) {
            throw new Refusal(
                    directory + " is finished, but its checkpoints are gone; its losses are all there. To have"
                            + " the weights again, train it with another --out");
        }
        Path newest = checkpoints.getFirst();
        return Run.step(newest) == configuration.steps() && Checkpoint.good(newest);
    }

    private boolean train(RunLock held, Configuration c, boolean resume, Set<String> changed, Interrupt stop) {
        Optional<Run> target = held.run().named(c.target());
        if (c.target() != null && target.isEmpty()) {
            out.println(Ink.YELLOW.on("warning:") + " the run that this one follows, " + c.target()
                    + ", was not found: no gap is shown");
        }
        StepLine line = new StepLine(out, c, target, brief).titled("run " + directory);
        try {
            return new Trainer(held.run(), held, ranks, c, provenance(), line).run(resume, changed, stop);
        } finally {
            line.end();
        }
    }

    /** Begins a run in a new directory; what fails leaves nothing behind. */
    public static void create(Path directory, Configuration c, Consumer<RunLock> beginning) {
        try (RunLock held = RunLock.create(directory, c)) {
            try {
                beginning.accept(held);
            } catch (RuntimeException | Error e) {
                remove(directory, e); // while it is held: without the lock it may be another process's run
                throw e;
            }
        }
    }

    /** What failed before its first step leaves nothing behind. */
    private static void remove(Path directory, Throwable failure) {
        try {
            Folder.delete(directory);
        } catch (IOException | UncheckedIOException e) {
            failure.addSuppressed(e);
        }
    }

    /** With the engine that {@code auto} stands for here: a resumed run must not find another. */
    private Configuration chosen() {
        if (!configuration.engine().equals("auto")) {
            return configuration;
        }
        String engine = Engines.choose("auto");
        if (!brief) {
            out.println("engine " + engine + ": the first of " + Engines.order() + " that works here");
        }
        return on(engine, configuration);
    }

    public static Configuration on(String engine, Configuration c) {
        return c.engine().equals(engine) ? c : ConfigurationFile.with(c, "engine=" + engine);
    }

    private RunLock lock(Configuration c, boolean resume, Set<String> changed) {
        if (!resume || !new Run(directory).begun()) {
            return RunLock.create(directory, c);
        }
        if (changed.isEmpty()) {
            resumable(directory, c);
        }
        return RunLock.open(directory);
    }

    /**
     * The configuration that a run was begun with. It must be the one now asked for; where that leaves the engine to be
     * chosen, the engine chosen before stays, and where both name the same target, the name it had.
     */
    public static Configuration resumable(Path directory, Configuration asked) {
        Configuration before = new Run(directory).configuration();
        List<String> stays = new ArrayList<>();
        if (asked.engine().equals("auto")) {
            stays.add("engine=" + before.engine());
        }
        if (before.matrices().weights().master() == Representation.Master.AUTO) { // begun before exact was the default
            stays.addAll(inherited(before, asked));
        }
        Optional<Path> target = target(directory, asked);
        if (target.isPresent() && target.equals(target(directory, before))) {
            stays.add(ConfigurationFile.text("target", before.target()));
        }
        String schedule = before.matrices().recorded(), other = asked.matrices().recorded();
        boolean moved = schedule != null && other != null && sameFile(Path.of(schedule), Path.of(other));
        if (moved) {
            stays.add(ConfigurationFile.text("matrices.recorded", schedule));
        }
        Configuration now = ConfigurationFile.with(asked, stays.toArray(String[]::new));
        Map<String, String> old = ConfigurationFile.settings(before), fresh = ConfigurationFile.settings(now);
        String differences = Stream.concat(old.keySet().stream(), fresh.keySet().stream())
                .distinct()
                .filter(key -> !Objects.equals(old.get(key), fresh.get(key)))
                .map(key -> key + " was " + old.get(key) + ", is " + fresh.get(key))
                .collect(Collectors.joining("; "));
        if (!differences.isEmpty()) {
            throw new Refusal(directory + " was started with another configuration (" + differences
                    + "); choose another --out, or continue it as it is with: ht train " + Next.word(directory));
        }
        return moved ? ConfigurationFile.with(before, ConfigurationFile.text("matrices.recorded", other)) : before;
    }

    /** Whether a file is the same in another place; one that is gone by its name, and a checkpoint knows its numbers. */
    private static boolean sameFile(Path before, Path now) {
        return Files.exists(before)
                ? Files.exists(now) && Atomic.told("compare", before, () -> Files.mismatch(before, now)) == -1
                : now.endsWith(before.getFileName());
    }

    private static Optional<Path> target(Path run, Configuration c) {
        return new Run(run).named(c.target()).map(other -> Atomic.told("find", run, other.directory()::toRealPath));
    }

    /** How an older run shows matrices to its network, where what is asked for leaves that to the defaults of today. */
    private static List<String> inherited(Configuration before, Configuration asked) {
        Map<String, String> old = ConfigurationFile.settings(before), now = ConfigurationFile.settings(asked);
        Map<String, String> today = ConfigurationFile.settings(ConfigurationFile.of());
        return Stream.of("matrices.master", "matrices.grid", "matrices.gradient")
                .filter(key -> today.get(key).equals(now.get(key)))
                .map(key -> key + "=" + old.get(key))
                .toList();
    }

    /** What is remembered of the program and the machine. */
    public static Map<String, String> provenance() {
        Version version = Version.built();
        Machine machine = Machine.here();
        Map<String, String> provenance = new LinkedHashMap<>();
        provenance.put("version", version.number());
        provenance.put("commit", version.commit());
        provenance.put("jdk", machine.jdk());
        provenance.put("os", machine.os());
        provenance.put("machine", machine.architecture());
        provenance.put("cores", Integer.toString(machine.cores()));
        provenance.put("started", Instant.now().truncatedTo(ChronoUnit.SECONDS).toString());
        return provenance;
    }

    /**
     * Refuses a network that cannot fit before anything of it is built, which would take minutes. The engine's own check,
     * which knows every tensor, comes later.
     */
    public static void requireRoom(Configuration c) {
        boolean cpu = c.engine().equals("cpu");
        if (!cpu && !c.engine().equals("reference")) {
            return; // what a card has is known when it is opened
        }
        long parameters = c.architecture().parameters();
        long there = cpu ? Machine.here().memory() : Runtime.getRuntime().maxMemory();
        double needed = (double) COPIES * (cpu ? Float.BYTES : Double.BYTES) * parameters;
        if (needed > there) {
            String parts = "the network has %,d parameters, whose weights, gradients and momentum need ";
            throw new Refusal(parts.formatted(parameters) + Width.size((long) needed) + ", and engine " + c.engine()
                    + " has " + Width.size(there) + (cpu ? " of memory" : " of heap") + " here; lower model.layers ("
                    + c.model().layers()
                    + ") or model.width (" + c.model().width() + ")");
        }
    }
}
