package hypertransfer.train.file;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Supplier;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** Writes a .safetensors file, a few tensors in memory at a time. */
public final class SafeTensorsWriter {
    /** What a file of any size can be written with. */
    private static final long LITTLE_ROOM = 64 << 20;

    private SafeTensorsWriter() {}

    /**
     * A tensor to come: its bytes are asked for when its turn comes.
     *
     * @param bytes 4 for F32, 8 for F64
     * @param source puts the numbers, as the file has them, into memory that has just their size
     */
    public record Entry(String name, int rows, int cols, int bytes, Consumer<MemorySegment> source) {
        /** From numbers of double precision. */
        public Entry(String name, int rows, int cols, int bytes, Supplier<double[]> values) {
            this(name, rows, cols, bytes, to -> encode(values.get(), bytes, to));
        }

        long size() {
            return (long) rows * cols * bytes;
        }
    }

    private static void encode(double[] values, int bytes, MemorySegment to) {
        if (bytes == Double.BYTES) {
            MemorySegment.copy(values, 0, to, SafeTensors.F64, 0, values.length);
        } else {
            for (int i = 0; i < values.length; i++) {
                to.setAtIndex(SafeTensors.F32, i, (float) values[i]);
            }
        }
    }

    /** Writes the file and returns its CRC-32C. */
    public static long write(Path file, List<Entry> entries, Map<String, String> metadata) {
        return begin(file, entries, metadata, LITTLE_ROOM).finish();
    }

    /**
     * Asks for the bytes of all tensors, in this thread and in their order, while another thread writes them. Returns as
     * soon as all are in memory.
     *
     * @param room how many bytes may wait in memory; with less than the file's size this returns later, with any it works
     */
    public static Conveyor begin(Path file, List<Entry> entries, Map<String, String> metadata, long room) {
        return Conveyor.load(file, header(entries, metadata), entries, room);
    }

    private static byte[] header(List<Entry> entries, Map<String, String> metadata) {
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
            node.putArray("data_offsets").add(offset).add(offset + e.size());
            offset += e.size();
        }
        byte[] text = header.toString().getBytes(StandardCharsets.UTF_8);
        byte[] json = Arrays.copyOf(text, text.length + Math.floorMod(-text.length, 8)); // so that the data is aligned
        Arrays.fill(json, text.length, json.length, (byte) ' ');
        return ByteBuffer.allocate(Long.BYTES + json.length)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(json.length)
                .put(json)
                .array();
    }
}
