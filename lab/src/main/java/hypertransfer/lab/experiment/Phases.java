package hypertransfer.lab.experiment;

import hypertransfer.engine.Span;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.file.Atomic;
import hypertransfer.train.file.Folder;
import hypertransfer.train.log.Hold;
import hypertransfer.train.run.Trainee;
import hypertransfer.train.run.Trainer;
import hypertransfer.train.run.Watcher;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;

/** How long a run makes people wait: a short one on random tokens, and its continuation. */
public final class Phases implements Watcher {
    private static final int STEPS = 3;

    private final Map<String, Double> seconds = new LinkedHashMap<>();
    private final Map<String, Double> parts = new LinkedHashMap<>(); // of the phase under way
    private String prefix = "";
    private long last;

    private Phases() {}

    /** Seconds by phase, in their order; the first counts from the start of the JVM. */
    public static Map<String, Double> measure(Configuration preset) {
        try {
            // A name from createTempDirectory would be drawn securely, which takes 45 ms of those measured here.
            Path directory = Files.createDirectory(
                    Path.of(System.getProperty("java.io.tmpdir"), "ht-phases" + System.nanoTime()));
            Phases phases = new Phases();
            try {
                ScopedValue.where(Span.OBSERVER, (name, s) -> phases.parts.merge(name, s, Double::sum))
                        .run(() -> phases.measure(preset, directory));
                return phases.seconds;
            } finally {
                Folder.delete(directory);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("no temporary directory can be used: " + e.getMessage(), e);
        }
    }

    private void measure(Configuration preset, Path directory) {
        double program = (System.currentTimeMillis()
                        - ManagementFactory.getRuntimeMXBean().getStartTime())
                / 1e3;
        seconds.put("the program", program);
        Path shard = tokens(preset, directory.resolve("tokens.bin"));
        Configuration c = ConfigurationFile.with(
                preset,
                "steps=" + STEPS,
                "model.accumulation=1",
                "validation.every=1000",
                "validation.every_late=1000",
                "validation.batches=1",
                "checkpoint.every=1000",
                ConfigurationFile.text("data.train", shard.toString()),
                ConfigurationFile.text("data.validation", shard.toString()));
        last = System.nanoTime();
        try (Hold hold = Hold.create(directory.resolve("run"), c)) {
            new Trainer(hold, c, Map.of(), this).run(false, () -> false);
        }
        prefix = "continued: ";
        last = System.nanoTime();
        try (Hold hold = Hold.open(directory.resolve("run"))) {
            new Trainer(hold, c, Map.of(), this).run(true, () -> false);
        }
    }

    private static Path tokens(Configuration c, Path file) {
        int count = STEPS * c.model().batch() * c.model().sequence() + 1,
                vocabulary = c.model().vocab();
        ByteBuffer bytes = ByteBuffer.allocate(1024 + 2 * count).order(ByteOrder.LITTLE_ENDIAN);
        bytes.putInt(20240520).putInt(1).putInt(count).position(1024);
        new Random(1).ints(count, 0, vocabulary).forEach(id -> bytes.putChar((char) id));
        Atomic.write(file, channel -> Atomic.writeFully(channel, bytes.rewind()));
        return file;
    }

    private void passed(String phase) {
        long now = System.nanoTime();
        seconds.put(prefix + phase, (now - last) / 1e9);
        parts.forEach((part, s) -> seconds.put(prefix + phase + ": " + part, s));
        parts.clear();
        last = now;
    }

    @Override
    public void started(Trainee trainee, int step) {
        passed(prefix.isEmpty() ? "engine, memory and weights" : "engine, memory and checkpoint");
    }

    @Override
    public void validated(int step, double loss) {
        passed(step == 0 ? "first validation" : "last validation");
    }

    @Override
    public void stepped(int step, double loss, double seconds, long tokens) {
        passed("step " + (step + 1));
    }

    @Override
    public void saved(int step, Path checkpoint) {
        if (prefix.isEmpty()) { // the continued run is saved once more, which says nothing new
            passed("saving");
        }
    }
}
