package hypertransfer.train.file;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.zip.CRC32C;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** Writes a .safetensors file, one tensor in memory at a time. */
public final class SafeTensorsWriter {
    private static final int CHUNK = 1 << 20;

    private SafeTensorsWriter() {}

    /**
     * A tensor to come: its values are asked for when its turn comes.
     *
     * @param bytes 4 for F32, 8 for F64
     */
    public record Entry(String name, int rows, int cols, int bytes, Supplier<double[]> values) {}

    /** Writes the file and returns its CRC-32C. */
    public static long write(Path file, List<Entry> entries, Map<String, String> metadata) {
        ObjectNode header = JsonMapper.shared().createObjectNode();
        if (!metadata.isEmpty()) {
            ObjectNode node = header.putObject("__metadata__");
            metadata.forEach(node::put);
        }
        long offset = 0;
        for (Entry e : entries) {
            ObjectNode node = header.putObject(e.name);
            node.put("dtype", e.bytes == Double.BYTES ? "F64" : "F32");
            if (e.rows == 1) {
                node.putArray("shape").add(e.cols);
            } else {
                node.putArray("shape").add(e.rows).add(e.cols);
            }
            long end = offset + (long) e.rows * e.cols * e.bytes;
            node.putArray("data_offsets").add(offset).add(end);
            offset = end;
        }
        byte[] text = header.toString().getBytes(StandardCharsets.UTF_8);
        byte[] json = Arrays.copyOf(text, text.length + Math.floorMod(-text.length, 8)); // so that the data is aligned
        Arrays.fill(json, text.length, json.length, (byte) ' ');
        CRC32C crc = new CRC32C();
        Atomic.write(file, channel -> {
            ByteBuffer buffer = ByteBuffer.allocateDirect(CHUNK).order(ByteOrder.LITTLE_ENDIAN);
            buffer.putLong(json.length);
            flush(buffer, crc, channel);
            for (int at = 0; at < json.length; at += CHUNK) {
                buffer.put(json, at, Math.min(CHUNK, json.length - at));
                flush(buffer, crc, channel);
            }
            for (Entry e : entries) {
                double[] values = e.values.get();
                for (int at = 0; at < values.length; at += CHUNK / e.bytes) {
                    int end = Math.min(values.length, at + CHUNK / e.bytes);
                    if (e.bytes == Double.BYTES) {
                        buffer.asDoubleBuffer().put(values, at, end - at);
                    } else {
                        for (int i = at; i < end; i++) {
                            buffer.putFloat((i - at) * Float.BYTES, (float) values[i]);
                        }
                    }
                    buffer.position((end - at) * e.bytes);
                    flush(buffer, crc, channel);
                }
            }
        });
        return crc.getValue();
    }

    private static void flush(ByteBuffer buffer, CRC32C crc, FileChannel channel) throws IOException {
        buffer.flip();
        crc.update(buffer.duplicate());
        Atomic.writeFully(channel, buffer);
        buffer.clear();
    }
}
