package hypertransfer.train.run;

import hypertransfer.engine.ranks.Alone;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.data.ShardFile;
import hypertransfer.train.log.Line;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.Run.Curves;
import hypertransfer.train.log.RunLock;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;

/** Runs so small that a step takes a millisecond, on a shard of random words in a directory of the test's. */
record Tiny(Path directory) {
    static final int VOCAB = 32;

    /** The smallest network there is, 40 steps on the engine that starts fastest, with the shard; later settings win. */
    Configuration configuration(String... settings) {
        Path shard = shard();
        List<String> all = new ArrayList<>(List.of(
                "engine=reference",
                "steps=40",
                "model.vocab=" + VOCAB,
                "model.layers=1",
                "model.width=16",
                "model.head=8",
                "model.sequence=16",
                "model.batch=2",
                "matrices.rate=0.02",
                "matrices.grid=0", // on the reference engine a transfer is then compared in double precision
                "data.train=" + shard,
                "data.validation=" + shard,
                "validation.batches=2",
                "checkpoint.every=10"));
        all.addAll(List.of(settings));
        return ConfigurationFile.of(all.toArray(String[]::new));
    }

    /** The same with more settings over these. */
    Configuration configuration(List<String> settings, String... more) {
        return configuration(Stream.concat(settings.stream(), Stream.of(more)).toArray(String[]::new));
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
            ShardFile.write(
                    file,
                    random.ints(600, 0, words.length)
                            .flatMap(i -> Arrays.stream(words[i]))
                            .toArray());
        }
        return file;
    }

    Path path(String name) {
        return directory.resolve(name);
    }

    /** Trains a new run of these settings to its end. */
    Path train(String name, String... settings) {
        return train(name, configuration(settings));
    }

    Path train(String name, Configuration c) {
        trainUntil(name, c, Integer.MAX_VALUE);
        return path(name);
    }

    /** Trains a new run until a step, where it is interrupted. */
    boolean trainUntil(String name, Configuration c, int step) {
        return trainUntil(name, c, step, new Notes());
    }

    /** What a new run was warned of. */
    List<String> warnings(String name, Configuration c) {
        Notes notes = new Notes();
        trainUntil(name, c, Integer.MAX_VALUE, notes);
        return notes.warnings;
    }

    private boolean trainUntil(String name, Configuration c, int step, Notes notes) {
        try (RunLock held = RunLock.create(path(name), c)) {
            return run(held, c, false, step, notes);
        }
    }

    /** For whoever may not be warned. */
    static void unexpected(String warning) {
        throw new AssertionError(warning);
    }

    /** Goes on with a run to its end; returns what it was warned of. */
    List<String> resume(String name) {
        return resume(name, new Run(path(name)).configuration());
    }

    List<String> resume(String name, Configuration c) {
        return resumeUntil(name, c, Integer.MAX_VALUE);
    }

    /** Goes on with a run until a step, where it is interrupted. */
    List<String> resumeUntil(String name, Configuration c, int step) {
        Notes notes = new Notes();
        try (RunLock held = RunLock.open(path(name))) {
            run(held, c, true, step, notes);
        }
        return notes.warnings;
    }

    private static boolean run(RunLock held, Configuration c, boolean resume, int until, Notes notes) {
        return trainer(held, c, notes).run(resume, Set.of(), () -> notes.taken >= until);
    }

    /** Trains a run in this process. */
    static Trainer trainer(RunLock held, Configuration c, Watcher watcher) {
        return new Trainer(held.run(), held, new Alone(), c, Map.of("version", "test"), watcher);
    }

    /** Counts steps and keeps warnings. */
    private static final class Notes implements Watcher {
        private final List<String> warnings = new ArrayList<>();
        private int taken;

        @Override
        public void logged(Line line) {
            taken = line instanceof Line.Training ? line.step() + 1 : taken;
        }

        @Override
        public void warned(String sentence) {
            warnings.add(sentence);
        }
    }

    /** Everything that must be the same in two equal runs: all lines apart from the time they took, and the weights. */
    static List<Object> result(Path run) {
        List<Object> all = new ArrayList<>();
        try {
            for (String line : Files.readAllLines(run.resolve(Run.METRICS))) {
                all.add(line.replaceAll(",\"seconds\":[^}]*", ""));
            }
            all.addAll(Files.readAllLines(run.resolve(Run.MATRICES)));
            Path last = new Run(run).checkpoints().getFirst();
            all.add(last.getFileName().toString());
            all.add(Files.readString(last));
            all.add(ByteBuffer.wrap(Files.readAllBytes(Checkpoint.tensorsOf(last))));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return all;
    }

    /** The losses that a run has logged, training's and validation's. */
    static Curves curves(Path run) {
        return Curves.read(run, told -> {});
    }

    /** All lines of matrices.jsonl, by their step. */
    static NavigableMap<Integer, Line.Matrices> matrices(Path run) {
        NavigableMap<Integer, Line.Matrices> lines = new TreeMap<>();
        new Run(run).matrices().lines(Line.Matrices.class).forEach(line -> lines.put(line.step(), line));
        return lines;
    }

    static List<String> files(Path directory) {
        try (Stream<Path> files = Files.list(directory)) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
