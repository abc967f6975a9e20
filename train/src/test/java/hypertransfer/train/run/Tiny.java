package hypertransfer.train.run;

import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import tools.jackson.databind.node.ObjectNode;

/** Runs so small that a step takes a millisecond, on a shard of random words in a directory of the test's. */
record Tiny(Path directory) {
    static final int VOCAB = 32;

    /** The smallest network there is, 40 steps, with the shard in its place; later settings win. */
    Configuration configuration(String... settings) {
        Path shard = shard();
        List<String> all = new ArrayList<>(List.of(
                "engine=cpu",
                "steps=40",
                "model.vocab=" + VOCAB,
                "model.layers=1",
                "model.width=16",
                "model.head=8",
                "model.sequence=16",
                "model.batch=2",
                "matrices.rate=0.02",
                "data.train=" + shard,
                "data.validation=" + shard,
                "validation.batches=2",
                "checkpoint.every=10"));
        all.addAll(List.of(settings));
        return ConfigurationFile.of(all.toArray(String[]::new));
    }

    /** Sixteen words over and over, so that there is something to learn. */
    private Path shard() {
        Path file = directory.resolve("words.bin");
        if (!Files.exists(file)) {
            Random random = new Random(5);
            int[][] words = new int[16][];
            for (int i = 0; i < words.length; i++) {
                words[i] = random.ints(2 + i % 4, 1, VOCAB).toArray();
            }
            int[] ids = random.ints(600, 0, words.length)
                    .flatMap(i -> java.util.Arrays.stream(words[i]))
                    .toArray();
            ByteBuffer bytes = ByteBuffer.allocate(1024 + 2 * ids.length).order(ByteOrder.LITTLE_ENDIAN);
            bytes.putInt(20240520).putInt(1).putInt(ids.length).position(1024);
            for (int id : ids) {
                bytes.putShort((short) id);
            }
            try {
                Files.write(file, bytes.array());
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        return file;
    }

    Path path(String name) {
        return directory.resolve(name);
    }

    /** Trains a new run to its end. */
    Path train(String name, Configuration c) {
        trainUntil(name, c, Integer.MAX_VALUE);
        return path(name);
    }

    /** Trains a new run until a step, where it is interrupted. */
    boolean trainUntil(String name, Configuration c, int step) {
        try (RunDirectory held = RunDirectory.create(path(name), c)) {
            return run(held, c, false, step, new Notes());
        }
    }

    /** Goes on with a run to its end; returns what it was warned of. */
    List<String> resume(String name) {
        return resume(name, RunDirectory.configuration(path(name)));
    }

    List<String> resume(String name, Configuration c) {
        Notes notes = new Notes();
        try (RunDirectory held = RunDirectory.open(path(name))) {
            run(held, c, true, Integer.MAX_VALUE, notes);
        }
        return notes.warnings;
    }

    private static boolean run(RunDirectory held, Configuration c, boolean resume, int until, Notes notes) {
        return new Trainer(held, c, Map.of("version", "test"), notes).run(resume, () -> notes.taken >= until);
    }

    /** Counts steps and keeps warnings. */
    private static final class Notes implements Watcher {
        private final List<String> warnings = new ArrayList<>();
        private int taken;

        @Override
        public void stepped(int step, double loss, double seconds, long tokens) {
            taken = step + 1;
        }

        @Override
        public void warned(String sentence) {
            warnings.add(sentence);
        }
    }

    /** Everything that must be the same in two equal runs: all lines apart from the time they took, and the weights. */
    static List<Object> result(Path run) {
        List<Object> all = new ArrayList<>();
        Series.read(run.resolve(RunDirectory.METRICS), line -> {
            ((ObjectNode) line).remove("seconds");
            all.add(line.toString());
        });
        try {
            all.addAll(Files.readAllLines(run.resolve(RunDirectory.MATRICES)));
            Path last = Checkpoint.list(run.resolve(RunDirectory.CHECKPOINTS)).getFirst();
            all.add(last.getFileName().toString());
            all.add(Files.readString(last));
            all.add(ByteBuffer.wrap(Files.readAllBytes(Checkpoint.tensorsOf(last))));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return all;
    }

    static List<String> files(Path directory) {
        try (Stream<Path> files = Files.list(directory)) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
