package hypertransfer.train.log;

import hypertransfer.train.file.Atomic;
import hypertransfer.train.log.Line.Damaged;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * The lines of a file that may still grow, one by one, a megabyte of it in memory at a time. A line counts once its newline
 * is there. A line that cannot be read, or whose step does not come after the one before it, is passed over and counted.
 * A resumed run cuts its files first: {@link #cut} notices that, and {@link #rewind} starts again.
 */
public final class Tail {
    private static final int CHUNK = 1 << 20;
    /** No line is nearly as long; a file without newlines must not fill the memory. */
    private static final int LONGEST = 1 << 26;
    /** How much before the end of a file is read first. */
    private static final int NEAR = 1 << 16;

    private final Path file;
    private final Reading reading;
    private byte[] chunk = {};
    private int at; // in the chunk
    private int scanned; // no newline in the chunk between at and here
    private long offset; // of the chunk in the file
    private long start; // of the last line in the file
    private int lines;
    private boolean whole = true; // read from its first line, so that lines can be counted
    private byte[] last = {}; // the bytes of the line read last
    private final Map<Class<?>, Integer> reached = new HashMap<>(); // the last step of each kind of line
    private Damage damage;

    /**
     * The lines of a file that could not be taken.
     *
     * @param first why the first could not
     */
    public record Damage(Path file, int lines, String first) {
        Damage and(String place, String why) {
            return new Damage(file, lines + 1, lines == 0 ? place + " " + why : first);
        }

        /** For people, e.g. {@code metrics.jsonl has 1 damaged line (line 2 is not JSON)}; empty where all is well. */
        @Override
        public String toString() {
            return lines == 0
                    ? ""
                    : file.getFileName() + " has " + lines
                            + (lines == 1 ? " damaged line (" : " damaged lines (the first: ") + first + ")";
        }
    }

    interface Reading {
        Line line(ByteBuffer bytes) throws Damaged;
    }

    Tail(Path file, Reading reading) {
        this.file = file;
        this.reading = reading;
        damage = new Damage(file, 0, "");
    }

    /** The next good line; null where there is none yet. */
    public Line next() {
        while (true) {
            int end = newline();
            if (end < 0) {
                return null;
            }
            ByteBuffer bytes = ByteBuffer.wrap(chunk, at, end - at);
            start = offset + at;
            last = Arrays.copyOfRange(chunk, at, end + 1);
            at = scanned = end + 1;
            lines++;
            try {
                Line line = reading.line(bytes);
                int before = reached.getOrDefault(line.getClass(), -1);
                if (line.step() <= before) {
                    throw new Damaged("has step " + line.step() + " after step " + before);
                }
                reached.put(line.getClass(), line.step());
                return line;
            } catch (Damaged e) {
                damage = damage.and(place(start, lines), e.getMessage());
            }
        }
    }

    /** All good lines of a kind that are there and were not read yet. */
    public <L extends Line> Stream<L> lines(Class<L> kind) {
        return Stream.generate(this::next)
                .takeWhile(Objects::nonNull)
                .filter(kind::isInstance)
                .map(kind::cast);
    }

    /** Where the next newline is in the chunk, which is read on as far as needed; below zero where there is none. */
    private int newline() {
        while (true) {
            for (; scanned < chunk.length; scanned++) {
                if (chunk[scanned] == '\n') {
                    return scanned;
                }
            }
            if (chunk.length - at > LONGEST) {
                damage = damage.and(place(position(), lines + 1), "has more than " + LONGEST + " bytes");
                at = chunk.length;
            }
            byte[] more = read(offset + chunk.length, CHUNK);
            if (more.length == 0) {
                offset = position(); // a line that is half written is read again: a resumed run may have cut it off
                chunk = more;
                at = scanned = 0;
                return -1;
            }
            byte[] joined = Arrays.copyOfRange(chunk, at, chunk.length + more.length);
            System.arraycopy(more, 0, joined, chunk.length - at, more.length);
            offset += at;
            scanned -= at;
            at = 0;
            chunk = joined;
        }
    }

    /** Where the line read last begins in the file. */
    long start() {
        return start;
    }

    /** Where the line read last ends in the file. */
    long position() {
        return offset + at;
    }

    /**
     * What was passed over so far.
     *
     * @param over whether nobody writes the file any more, so that a last line without its newline is damaged too
     */
    public Damage damage(boolean over) {
        return over && read(position(), 1).length > 0
                ? damage.and(place(position(), lines + 1), "ends in the middle")
                : damage;
    }

    /** The same for people, with the run's name, once all lines were read. */
    public void tell(Consumer<String> told) {
        Damage all = damage(false);
        if (all.lines() > 0) {
            told.accept(file.getParent() + ": " + all);
        }
    }

    private String place(long at, int line) {
        return whole ? "line " + line : "the line at byte " + at;
    }

    /** Continues with the first line that begins at a place or after it; what is before stays unread. */
    void skip(long place) {
        rewind();
        if (place > 0) {
            whole = false;
            offset = place - 1;
            int end = newline();
            at = scanned = end < 0 ? chunk.length : end + 1;
        }
    }

    /**
     * The last line of a kind, looked for from the end: the rest of the file stays unread. It is for files that are not
     * read otherwise.
     */
    public <L extends Line> Optional<L> last(Class<L> kind) {
        long window = NEAR;
        for (long from, to = size(); to > 0; to = from) {
            from = Math.max(0, to - window);
            skip(from);
            L found = null;
            for (Line line = next(); line != null && start < to; line = next()) {
                found = kind.isInstance(line) ? kind.cast(line) : found;
            }
            if (found != null) {
                return Optional.of(found);
            }
            window *= 2;
        }
        return Optional.empty();
    }

    long size() {
        return Atomic.told("read", file, () -> Files.exists(file) ? Files.size(file) : 0L);
    }

    /** Whether what was read is no longer the beginning of the file. */
    public boolean cut() {
        return !Arrays.equals(last, read(position() - last.length, last.length));
    }

    public void rewind() {
        chunk = new byte[0];
        last = chunk;
        at = scanned = lines = 0;
        offset = start = 0;
        whole = true;
        reached.clear();
        damage = new Damage(file, 0, "");
    }

    private byte[] read(long from, int length) {
        Atomic.requireRegular(file);
        try (FileChannel channel = FileChannel.open(file)) {
            ByteBuffer buffer = ByteBuffer.allocate((int) Math.max(0, Math.min(length, channel.size() - from)));
            while (buffer.hasRemaining() && channel.read(buffer, from + buffer.position()) >= 0) {}
            return Arrays.copyOf(buffer.array(), buffer.position());
        } catch (NoSuchFileException e) {
            return new byte[0];
        } catch (IOException e) {
            throw Atomic.failed("read", file, e);
        }
    }
}
