package hypertransfer.train.run;

import hypertransfer.core.Diverged;
import hypertransfer.core.GradientRule;
import hypertransfer.core.Refusal;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.file.Atomic;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** The directory of one run, held by one process at a time. docs/FORMATS.md says what is in it. */
public final class RunDirectory implements AutoCloseable {
    public static final String CONFIGURATION = "config.yaml";
    public static final String PROVENANCE = "provenance.json";
    public static final String METRICS = "metrics.jsonl";
    /** What the engine decided by measuring; see {@link hypertransfer.engine.Engine#decisions}. */
    static final String DECISIONS = "decisions.txt";

    public static final String MATRICES = "matrices.jsonl";
    public static final String STATE = "state.json";
    public static final String CHECKPOINTS = "checkpoints";
    private static final String LOCK = "lock";
    /** What this process holds. A second open of a lock file would, when closed, release the first one's lock. */
    private static final Set<Path> HELD = ConcurrentHashMap.newKeySet();

    private final Path path;
    private final Path key;
    private final FileChannel channel;
    private final FileLock lock;

    private RunDirectory(Path path, Path key, FileChannel channel, FileLock lock) {
        this.path = path;
        this.key = key;
        this.channel = channel;
        this.lock = lock;
    }

    private static RunDirectory hold(Path path) {
        try {
            Files.createDirectories(path);
            Path key = path.toRealPath();
            if (!HELD.add(key)) {
                throw inUse(path);
            }
            FileChannel channel = null;
            try {
                channel = FileChannel.open(path.resolve(LOCK), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                FileLock lock = channel.tryLock();
                if (lock == null) {
                    throw inUse(path);
                }
                return new RunDirectory(path, key, channel, lock);
            } catch (IOException | Refusal e) {
                HELD.remove(key);
                close(channel);
                throw e;
            }
        } catch (IOException e) {
            throw new Refusal("cannot write the run's directory " + path + ": " + e.getMessage(), e);
        }
    }

    private static Refusal inUse(Path path) {
        return new Refusal("another process is writing the run " + path + "; wait for it, or choose another --out");
    }

    /** A new run; refuses a directory that already holds one. */
    public static RunDirectory create(Path path, Configuration configuration) {
        RunDirectory directory = hold(path); // held first, so that no other can start here meanwhile
        try {
            if (begun(path)) {
                throw new Refusal(path + " already holds a run; go on with it with --resume, or choose another --out");
            }
            Atomic.write(path.resolve(CONFIGURATION), ConfigurationFile.write(configuration));
            return directory;
        } catch (RuntimeException e) {
            directory.close();
            throw e;
        }
    }

    /** Whether a run was begun here. One that was refused before it logged anything is none. */
    public static boolean begun(Path path) {
        Path metrics = path.resolve(METRICS);
        try {
            return Files.exists(path.resolve(CONFIGURATION))
                    && (Files.exists(metrics) && Files.size(metrics) > 0
                            || !Checkpoint.list(path.resolve(CHECKPOINTS)).isEmpty());
        } catch (IOException e) {
            throw new Refusal("cannot read " + metrics + ": " + e.getMessage(), e);
        }
    }

    /** Whether a process is writing the run now. */
    public static boolean held(Path path) {
        try {
            if (HELD.contains(path.toRealPath())) {
                return true;
            }
            try (FileChannel channel = FileChannel.open(path.resolve(LOCK), StandardOpenOption.WRITE);
                    FileLock probe = channel.tryLock()) {
                return probe == null;
            }
        } catch (IOException e) { // without a lock, or one we may not open, nobody we know of is writing
            return false;
        }
    }

    /** A run that is there. */
    public static RunDirectory open(Path path) {
        configuration(path);
        return hold(path);
    }

    /** The configuration of a run, without holding it. */
    public static Configuration configuration(Path path) {
        if (!Files.isRegularFile(path.resolve(CONFIGURATION))) {
            throw new Refusal(
                    path + " is not a run: it has no " + CONFIGURATION + "; 'ht runs' lists the runs there are");
        }
        return ConfigurationFile.read(path.resolve(CONFIGURATION), List.of());
    }

    public Path path() {
        return path;
    }

    public Path checkpoints() {
        return path.resolve(CHECKPOINTS);
    }

    /** Says how the run stands. */
    void state(String state, int step, int steps, double loss, double validation, RuntimeException failure) {
        ObjectNode node = JsonMapper.shared().createObjectNode();
        node.put("state", state).put("step", step).put("steps", steps);
        Series.put(node, "loss", loss);
        Series.put(node, "validation", validation);
        if (failure != null) {
            node.put("message", failure.getMessage());
        }
        if (failure instanceof Diverged) { // a result of training; every other failure is worth another try
            node.put("kind", "diverged");
        }
        Atomic.write(path.resolve(STATE), node.toString());
    }

    /** How a run stands, as it last said; empty where it never did. */
    public static JsonNode state(Path path) {
        try {
            return Files.exists(path.resolve(STATE))
                    ? JsonMapper.shared().readTree(path.resolve(STATE))
                    : JsonMapper.shared().createObjectNode();
        } catch (JacksonException e) {
            throw new Refusal(path.resolve(STATE) + " is damaged: " + e.getOriginalMessage(), e);
        }
    }

    /** Who ran this, on what. */
    void provenance(ObjectNode provenance) {
        Atomic.write(path.resolve(PROVENANCE), provenance.toString());
    }

    /** The names of the hidden matrices, in the order of all arrays. */
    public static List<String> matrices(Path path) {
        return List.copyOf(rules(path).keySet());
    }

    /** The gradient rule that each hidden matrix was trained with. */
    static Map<String, GradientRule> rules(Path path) {
        Path file = path.resolve(PROVENANCE);
        try {
            JsonNode node = JsonMapper.shared().readTree(file);
            Map<String, GradientRule> rules = new LinkedHashMap<>();
            for (int k = 0; k < node.path("matrices").size(); k++) {
                String rule = node.path("gradient").path(k).asString("");
                rules.put(node.path("matrices").get(k).asString(), GradientRule.valueOf(rule));
            }
            return rules;
        } catch (IllegalArgumentException e) {
            throw new Refusal(file + " has a gradient rule that is none: " + e.getMessage(), e);
        } catch (JacksonException e) {
            throw new Refusal(
                    file + " cannot be read, so the names of the matrices are not known: " + e.getOriginalMessage(), e);
        }
    }

    /** Drops what was logged after a checkpoint, so that a step has one line; its validation may be part of it. */
    void rewind(int step, boolean validated) {
        Series.cut(path.resolve(METRICS), line -> {
            int at = line.path("step").asInt(-1);
            return at < step || at == step && validated && line.has("validation");
        });
        Series.cut(path.resolve(MATRICES), line -> line.path("step").asInt(-1) < step);
    }

    @Override
    public void close() {
        try {
            lock.release();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot release " + path + ": " + e.getMessage(), e);
        } finally {
            close(channel);
            HELD.remove(key);
        }
    }

    private static void close(FileChannel channel) {
        try {
            if (channel != null) {
                channel.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot close a run's lock: " + e.getMessage(), e);
        }
    }
}
