package hypertransfer.lab.report;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The lines of a file that another process appends to. Only lines that end in a newline are handed out, so one that is half
 * written waits for its rest. A resumed run cuts its files first: that is noticed, and reading starts again.
 */
final class Tail {
    private static final int CHUNK = 1 << 24;

    private final Path file;
    private long offset;
    private int lines;
    private byte[] last = {};

    Tail(Path file) {
        this.file = file;
    }

    /** A line, and where it stands, e.g. {@code runs/muon/metrics.jsonl, line 12}. */
    record Entry(String text, String where) {}

    /** Whether what was read is no longer the beginning of the file. */
    boolean cut() {
        try (FileChannel channel = FileChannel.open(file)) {
            return channel.size() < offset || !Arrays.equals(last, bytes(channel, offset - last.length, last.length));
        } catch (NoSuchFileException e) {
            return offset > 0;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Forgets what was read. */
    void rewind() {
        offset = 0;
        lines = 0;
        last = new byte[0];
    }

    /** The complete lines appended since the last call, some 16 MB of them at most; none where there is no more. */
    List<Entry> read() {
        try (FileChannel channel = FileChannel.open(file)) {
            int length = (int) Math.min(CHUNK, Math.max(0, channel.size() - offset));
            byte[] bytes = bytes(channel, offset, length);
            List<Entry> entries = new ArrayList<>();
            int start = 0;
            for (int i = 0; i < bytes.length; i++) {
                if (bytes[i] == '\n') {
                    lines++;
                    entries.add(new Entry(new String(bytes, start, i - start, StandardCharsets.UTF_8), where()));
                    last = Arrays.copyOfRange(bytes, start, i + 1);
                    start = i + 1;
                }
            }
            offset += start;
            return entries;
        } catch (NoSuchFileException e) {
            return List.of();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Whether something without a newline stands at the end. */
    boolean halfLine() {
        try {
            return Files.exists(file) && Files.size(file) > offset;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The line that was read last, or the first while none was. */
    String where() {
        return file + ", line " + Math.max(1, lines);
    }

    String next() {
        return file + ", line " + (lines + 1);
    }

    private static byte[] bytes(FileChannel channel, long from, int length) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(length);
        while (buffer.hasRemaining() && channel.read(buffer, from + buffer.position()) >= 0) {}
        return Arrays.copyOf(buffer.array(), buffer.position());
    }
}
