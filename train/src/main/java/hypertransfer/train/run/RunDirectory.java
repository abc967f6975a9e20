package hypertransfer.train.run;

import hypertransfer.core.Refusal;
import hypertransfer.train.file.Atomic;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** The directory of one run, held by one process at a time. docs/FORMATS.md says what is in it. */
public final class RunDirectory implements AutoCloseable {
    public static final String CONFIGURATION = "config.yaml";
    public static final String PROVENANCE = "provenance.json";
    public static final String METRICS = "metrics.jsonl";
    public static final String MATRICES = "matrices.jsonl";
    public static final String STATE = "state.json";
    public static final String CHECKPOINTS = "checkpoints";

    private final Path path;
    private final FileChannel channel;
    private final FileLock lock;

    private RunDirectory(Path path) {
        this.path = path;
        FileChannel opened = null;
        try {
            Files.createDirectories(path);
            opened = FileChannel.open(path.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            lock = opened.tryLock();
            if (lock == null) {
                throw new OverlappingFileLockException();
            }
            channel = opened;
        } catch (OverlappingFileLockException e) {
            close(opened);
            throw new Refusal(
                    "another process is writing the run " + path + "; wait for it, or choose another --out", e);
        } catch (IOException e) {
            close(opened);
            throw new Refusal("cannot write the run's directory " + path + ": " + e.getMessage(), e);
        }
    }

    /** A new run; refuses a directory that already holds one. */
    public static RunDirectory create(Path path, Configuration configuration) {
        if (Files.exists(path.resolve(CONFIGURATION))) {
            throw new Refusal(path + " already holds a run; go on with it with --resume, or choose another --out");
        }
        RunDirectory directory = new RunDirectory(path);
        Atomic.write(path.resolve(CONFIGURATION), ConfigurationFile.write(configuration));
        return directory;
    }

    /** A run that is there. */
    public static RunDirectory open(Path path) {
        configuration(path);
        return new RunDirectory(path);
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
    void state(String state, int step, int steps, double loss, double validation, String message) {
        ObjectNode node = JsonMapper.shared().createObjectNode();
        node.put("state", state).put("step", step).put("steps", steps);
        Series.put(node, "loss", loss);
        Series.put(node, "validation", validation);
        if (message != null) {
            node.put("message", message);
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
