package hypertransfer.train.log;

import hypertransfer.core.Refusal;
import hypertransfer.train.file.Atomic;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * A file that only grows, mostly one line per step.
 *
 * @param identity what it is told by from another file of its name
 */
public record Log(Path file, FileChannel channel, Object identity) implements AutoCloseable {
    /** What a resumed run reads of a log before it continues: a fraction of a second's work. */
    static final int TAIL = 1 << 22;

    public Log(Path file) {
        FileChannel channel = Atomic.told(
                "write", file, () -> FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.APPEND));
        this(file, channel, Atomic.identity(file));
    }

    public void append(Line line) {
        append((line.text() + "\n").getBytes(StandardCharsets.UTF_8));
    }

    /** Writes bytes, at once and whole as far as the system allows. */
    public void append(byte[] bytes) {
        Atomic.told("write", file, () -> {
            Atomic.writeFully(channel, ByteBuffer.wrap(bytes));
            return null;
        });
    }

    /** Flushes all lines to disk, and refuses to continue into a file that nobody will find. */
    public void force() {
        Atomic.told("flush", file, () -> {
            channel.force(true);
            return null;
        });
        if (!Objects.equals(identity, Atomic.identity(file))) {
            throw new Refusal(
                    file + " was removed or replaced while the run was writing it; run the same command again, which"
                            + " keeps the lines that are there");
        }
    }

    @Override
    public void close() {
        Atomic.close(file, channel);
    }

    /**
     * Ends a file after its last line worth keeping. Read are its last {@value #TAIL} bytes, and before them as much as is
     * dropped: a log may have gigabytes. Damaged lines met there are moved to a file of the same name with
     * {@code .damaged} behind it; only then is the file written again.
     *
     * @return what to tell the user: empty, unless lines were moved
     */
    static Optional<String> cut(Path file, Tail tail, Predicate<Line> keep) {
        if (!Files.exists(file)) {
            return Optional.empty();
        }
        long end = skip(tail, keep); // of the line before
        List<long[]> good = new ArrayList<>(List.of(new long[] {0, end})), bad = new ArrayList<>();
        for (boolean more = true; more; end = tail.position()) {
            Line line = tail.next();
            more = line != null;
            long start = more ? tail.start() : tail.position();
            if (start > end) {
                bad.add(new long[] {end, start});
            }
            if (more && keep.test(line)) {
                if (start > good.getLast()[1]) {
                    good.add(new long[] {start, 0});
                }
                good.getLast()[1] = tail.position();
            }
        }
        Path aside = file.resolveSibling(file.getFileName() + ".damaged");
        try (FileChannel from = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            if (!bad.isEmpty()) {
                try (FileChannel to = FileChannel.open(aside, StandardOpenOption.CREATE, StandardOpenOption.APPEND)) {
                    copy(from, bad, to);
                    to.force(true);
                }
            }
            if (good.size() == 1) {
                from.truncate(good.getLast()[1]);
                from.force(true);
            } else {
                Atomic.write(file, to -> copy(from, good, to));
            }
        } catch (IOException e) {
            throw Atomic.failed("cut", file, e);
        }
        return bad.isEmpty() ? Optional.empty() : Optional.of(tail.damage(false) + "; moved to " + aside.getFileName());
    }

    /** Passes over lines that are kept without a look at them; returns where the others begin. */
    private static long skip(Tail tail, Predicate<Line> keep) {
        long size = tail.size();
        for (long window = TAIL; window < size; window *= 2) {
            tail.skip(size - window);
            long begin = tail.position();
            Line first = tail.next();
            if (first != null && keep.test(first)) {
                tail.skip(begin);
                return begin;
            }
        }
        tail.rewind();
        return 0;
    }

    private static void copy(FileChannel from, List<long[]> spans, FileChannel to) throws IOException {
        for (long[] span : spans) {
            for (long at = span[0]; at < span[1]; ) {
                at += from.transferTo(at, span[1] - at, to);
            }
        }
    }
}
