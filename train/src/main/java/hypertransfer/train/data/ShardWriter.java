package hypertransfer.train.data;

import hypertransfer.core.Refusal;
import hypertransfer.train.file.Atomic;
import hypertransfer.train.file.Folder;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Writes one split's shards, each beside its place under a name of its own. They get their names all at once, by
 * a {@link Commit}; closed without it, nothing is left. Closing may come from another thread (a shutdown hook).
 */
final class ShardWriter implements AutoCloseable {
    private final Path directory;
    private final String name;
    private final Split split;
    private final long most;
    private final ByteBuffer buffer = ByteBuffer.allocateDirect(1 << 20).order(ByteOrder.LITTLE_ENDIAN);
    private final List<Path> files = new ArrayList<>();
    private FileChannel channel;
    private long here; // tokens in the shard being written
    private long count;
    private boolean closed;

    /** @param most tokens in a shard; only the last has fewer */
    ShardWriter(Path directory, String name, Split split, long most) {
        this.directory = directory;
        this.name = name;
        this.split = split;
        this.most = most;
    }

    synchronized void write(int... ids) {
        check();
        try {
            for (int id : ids) {
                if (channel == null) {
                    begin();
                }
                if (!buffer.hasRemaining()) {
                    flush(channel);
                }
                buffer.putChar((char) id);
                here++;
                count++;
                if (here == most) {
                    end();
                }
            }
        } catch (IOException e) {
            throw failed(e);
        }
    }

    private void begin() throws IOException {
        Path file = directory.resolve(split.file(name, files.size()));
        files.add(file);
        channel = FileChannel.open(
                Commit.unfinished(file),
                StandardOpenOption.CREATE,
                StandardOpenOption.TRUNCATE_EXISTING,
                StandardOpenOption.WRITE);
        here = 0;
        buffer.put(new byte[Shard.HEADER]); // the count is not known yet
    }

    private void end() throws IOException {
        flush(channel);
        header(channel, here);
        channel.close();
        channel = null;
    }

    private void flush(FileChannel shard) throws IOException {
        buffer.flip();
        Atomic.writeFully(shard, buffer);
        buffer.clear();
    }

    synchronized void finish() {
        check();
        try {
            if (channel != null) {
                end();
            }
        } catch (IOException e) {
            throw failed(e);
        }
    }

    /** Moves the last tokens of finished shards behind those of another writer. */
    synchronized void moveEnd(long tokens, ShardWriter to) {
        check();
        long from = count - tokens;
        int first = (int) (from / most);
        long kept = from % most; // of the first shard that is touched
        try {
            for (int i = first; i < files.size(); i++) {
                Path file = Commit.unfinished(files.get(i));
                try (Shard shard = Shard.open(file, Shard.ANY_VOCABULARY)) {
                    int[] ids = new int[1 << 16];
                    for (long at = i == first ? kept : 0; at < shard.count(); at += ids.length) {
                        int here = (int) Math.min(ids.length, shard.count() - at);
                        shard.read(at, ids, 0, here);
                        to.write(Arrays.copyOf(ids, here));
                    }
                }
                if (i > first || kept == 0) {
                    Files.delete(file);
                }
            }
            if (kept > 0) {
                try (FileChannel shard =
                        FileChannel.open(Commit.unfinished(files.get(first)), StandardOpenOption.WRITE)) {
                    shard.truncate(Shard.HEADER + Character.BYTES * kept);
                    header(shard, kept);
                }
            }
            files.subList(kept > 0 ? first + 1 : first, files.size()).clear();
        } catch (IOException e) {
            throw failed(e);
        }
        count = from;
    }

    private void header(FileChannel shard, long tokens) throws IOException {
        buffer.putInt(Shard.MAGIC).putInt(Shard.VERSION).putInt((int) tokens);
        shard.position(0);
        flush(shard);
        shard.force(true);
    }

    /** The shards, from here on there to stay; {@link Commit} gives them their names. */
    synchronized List<Path> files() {
        check();
        closed = true;
        return List.copyOf(files);
    }

    /** Removes what a killed process left of shards of this name. */
    void sweep() {
        try {
            for (Path leftover : list(directory, name, split, Commit.UNFINISHED)) {
                Files.deleteIfExists(leftover);
            }
        } catch (IOException e) {
            throw failed(e);
        }
    }

    /** Shards of that name that are already there, of both splits. */
    static List<Path> existing(Path directory, String name) {
        return Stream.of(Split.values())
                .flatMap(split -> list(directory, name, split, "").stream())
                .toList();
    }

    private static List<Path> list(Path directory, String name, Split split, String suffix) {
        String own = split.pattern(name) + Pattern.quote(suffix);
        return Folder.list(directory, split.glob() + suffix).stream()
                .filter(file -> file.getFileName().toString().matches(own))
                .toList();
    }

    long count() {
        return count;
    }

    private void check() {
        if (closed) {
            throw new Refusal("ended before all was tokenized; no shard was written to " + directory);
        }
    }

    private Refusal failed(IOException e) {
        return Commit.failed(directory, e);
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            try {
                if (channel != null) {
                    channel.close();
                }
                for (Path file : files) {
                    Files.deleteIfExists(Commit.unfinished(file));
                }
            } catch (IOException e) {
                throw failed(e);
            }
        }
    }
}
