package hypertransfer.train.run;

import hypertransfer.train.file.Atomic;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.function.Consumer;
import java.util.function.Predicate;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** A .jsonl file that only grows, a line a step. */
final class Series implements AutoCloseable {
    private final Path file;
    private final FileChannel channel;

    /** Appends to a file. */
    Series(Path file) {
        this.file = file;
        try {
            channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot write " + file + ": " + e.getMessage(), e);
        }
    }

    /** Writes a line, at once and whole as far as the system allows. */
    void append(ObjectNode line) {
        try {
            Atomic.writeFully(channel, ByteBuffer.wrap((line + "\n").getBytes(StandardCharsets.UTF_8)));
        } catch (IOException e) {
            throw new UncheckedIOException("cannot write " + file + ": " + e.getMessage(), e);
        }
    }

    /** Makes all lines last, whatever happens to the machine. */
    void force() {
        try {
            channel.force(true);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot flush " + file + ": " + e.getMessage(), e);
        }
    }

    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot close " + file + ": " + e.getMessage(), e);
        }
    }

    /** Hands over every whole line; a last one that was cut off is passed over. */
    static void read(Path file, Consumer<JsonNode> line) {
        if (!Files.exists(file)) {
            return;
        }
        try {
            for (String text : Files.readString(file, StandardCharsets.UTF_8).split("\n")) {
                JsonNode node = parse(text);
                if (node != null) {
                    line.accept(node);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read " + file + ": " + e.getMessage(), e);
        }
    }

    /** Rewrites the file with the lines worth keeping. */
    static void cut(Path file, Predicate<JsonNode> keep) {
        StringBuilder kept = new StringBuilder();
        read(file, line -> {
            if (keep.test(line)) {
                kept.append(line).append('\n');
            }
        });
        Atomic.write(file, kept.toString());
    }

    private static JsonNode parse(String text) {
        try {
            JsonNode node = text.isBlank() ? null : JsonMapper.shared().readTree(text);
            return node != null && node.isObject() ? node : null;
        } catch (JacksonException e) { // what a kill in the middle of a write leaves
            return null;
        }
    }

    /** Puts a number; JSON has none that is not finite, so those become null. */
    static void put(ObjectNode node, String key, double value) {
        if (Double.isFinite(value)) {
            node.put(key, value);
        } else {
            node.putNull(key);
        }
    }
}
