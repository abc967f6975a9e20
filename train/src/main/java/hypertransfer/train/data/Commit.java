package hypertransfer.train.data;

import hypertransfer.core.Refusal;
import hypertransfer.train.file.Atomic;
import hypertransfer.train.file.Folder;
import hypertransfer.train.file.Hold;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.stream.Stream;

/**
 * All shards of a directory at once, held by one process. Once a file with their names is written, they are there: what is
 * left to do are renames, which the next process finishes where this one is killed. Until then nobody reads them.
 *
 * @param made whether the directory was made here; it goes again where nothing is written
 */
record Commit(Path directory, String name, boolean made, Hold hold) implements AutoCloseable {
    static final String UNFINISHED = ".part";
    private static final String MARKER = "tokenize.commit";
    private static final String LOCK = "tokenize.lock";

    /** Takes hold of a directory, and finishes what another process could not. */
    static Commit hold(Path directory, String name) {
        boolean made = Files.notExists(directory);
        try {
            Files.createDirectories(directory);
        } catch (IOException e) {
            throw new Refusal("cannot make the directory " + directory + ": " + Atomic.reason(e), e);
        }
        try {
            Hold hold = Hold.of(
                    directory.resolve(LOCK),
                    () -> new Refusal("another process is writing shards to " + directory
                            + "; wait for it, or choose another --out"));
            Commit commit = new Commit(directory, name, made, hold);
            try {
                if (pending(directory)) {
                    commit.finish();
                }
                return commit;
            } catch (IOException | RuntimeException e) {
                commit.close();
                throw e;
            }
        } catch (IOException e) {
            throw failed(directory, e);
        }
    }

    /** Whether the directory's shards are being replaced, or were when a process was killed. */
    static boolean pending(Path directory) {
        return Files.exists(directory.resolve(MARKER));
    }

    /** Gives these shards their names and removes all older ones; each lies finished beside its name. */
    void write(List<Path> files) {
        List<String> names =
                files.stream().map(file -> file.getFileName().toString()).toList();
        Atomic.write(directory.resolve(MARKER), String.join("\n", names));
        try {
            finish();
        } catch (IOException e) {
            throw failed(directory, e);
        }
    }

    private void finish() throws IOException {
        Path marker = directory.resolve(MARKER);
        List<String> names = Files.readAllLines(marker);
        for (String line : names) {
            if (Stream.of(Split.values()).noneMatch(split -> line.matches(split.pattern(name)))) {
                throw new Refusal(
                        marker + " names '" + line + "', which is no shard of this directory; delete that file"
                                + " and tokenize again with --force");
            }
        }
        List<Path> files = names.stream().map(directory::resolve).toList();
        for (Path file : files) {
            if (Files.exists(unfinished(file))) {
                Files.move(unfinished(file), file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
            } else if (Files.notExists(file)) {
                throw new Refusal(
                        file + " is gone, though " + marker + " names it; delete that file and tokenize again");
            }
        }
        for (Path old : ShardWriter.existing(directory, name)) {
            if (!files.contains(old)) {
                Files.delete(old);
            }
        }
        Files.deleteIfExists(Spool.file(directory)); // before the marker: nobody looks for it later
        Atomic.force(directory);
        Files.delete(marker);
    }

    static Path unfinished(Path file) {
        return file.resolveSibling(file.getFileName() + UNFINISHED);
    }

    static Refusal failed(Path directory, IOException e) {
        return new Refusal(
                "cannot write shards to " + directory + ": " + Atomic.reason(e)
                        + "; make room there or choose another --out, then start again",
                e);
    }

    @Override
    public void close() {
        if (hold.channel().isOpen()) {
            try (hold) {
                Atomic.told("release", directory, () -> {
                    Files.deleteIfExists(directory.resolve(LOCK));
                    return made && Folder.list(directory, "*").isEmpty() && Files.deleteIfExists(directory);
                });
            }
        }
    }
}
