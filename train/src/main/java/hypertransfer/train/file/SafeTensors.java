package hypertransfer.train.file;

import hypertransfer.core.Refusal;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** A .safetensors file, read whole: an 8-byte length, a JSON header, then the bytes of all tensors. */
public final class SafeTensors {
    private static final int LARGEST_HEADER = 100_000_000; // the format's own limit

    /** Where one tensor lies in the data. */
    private record Entry(String dtype, int[] shape, long from, long to) {}

    private final Path file;
    private final ByteBuffer data;
    private final Map<String, Entry> entries = new LinkedHashMap<>();

    private SafeTensors(Path file, ByteBuffer data) {
        this.file = file;
        this.data = data;
    }

    public static SafeTensors read(Path file) {
        try (FileChannel channel = FileChannel.open(file)) {
            ByteBuffer bytes = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size());
            bytes.order(ByteOrder.LITTLE_ENDIAN);
            long header = bytes.remaining() < 8 ? -1 : bytes.getLong();
            if (header < 2 || header > Math.min(LARGEST_HEADER, bytes.remaining())) {
                throw new Refusal(file + " is not a safetensors file, or is cut off: its header of " + header
                        + " bytes does not fit into the file's " + channel.size());
            }
            byte[] text = new byte[(int) header];
            bytes.get(text);
            SafeTensors tensors = new SafeTensors(file, bytes.slice().order(ByteOrder.LITTLE_ENDIAN));
            tensors.index(new String(text, StandardCharsets.UTF_8));
            return tensors;
        } catch (IOException e) {
            throw new Refusal(
                    "cannot read " + file + (Files.exists(file) ? ": " + e.getMessage() : ": there is no such file"),
                    e);
        }
    }

    private void index(String header) {
        try {
            for (Map.Entry<String, JsonNode> field :
                    JsonMapper.shared().readTree(header).properties()) {
                if (!field.getKey().equals("__metadata__")) {
                    JsonNode node = field.getValue(), offsets = node.get("data_offsets");
                    int[] shape = new int[node.get("shape").size()];
                    Arrays.setAll(shape, i -> node.get("shape").get(i).asInt());
                    Entry entry = new Entry(
                            node.get("dtype").asString(),
                            shape,
                            offsets.get(0).asLong(),
                            offsets.get(1).asLong());
                    check(field.getKey(), entry);
                    entries.put(field.getKey(), entry);
                }
            }
        } catch (JacksonException | NullPointerException e) {
            throw new Refusal(file + " has a damaged safetensors header; fetch or write the file again", e);
        }
    }

    private void check(String name, Entry entry) {
        long expected = Arrays.stream(entry.shape).asLongStream().reduce(1, (a, b) -> a * b) * width(name, entry);
        if (entry.from < 0 || entry.to - entry.from != expected || entry.to > data.limit()) {
            throw new Refusal(file + ": tensor " + name + " of " + expected + " bytes claims the bytes " + entry.from
                    + " to " + entry.to + " of " + data.limit() + "; the file is cut off or damaged");
        }
    }

    private int width(String name, Entry entry) {
        return switch (entry.dtype) {
            case "F64", "I64" -> 8;
            case "F32", "I32" -> 4;
            default ->
                throw new Refusal(
                        file + ": tensor " + name + " has type " + entry.dtype + "; F64, F32, I64 and I32 can be read");
        };
    }

    public Iterable<String> names() {
        return entries.keySet();
    }

    public int[] shape(String name) {
        return entry(name).shape.clone();
    }

    /** The values of a tensor, whatever its type; F32 and I32 become doubles exactly. */
    public double[] values(String name) {
        Entry entry = entry(name);
        int width = width(name, entry);
        ByteBuffer bytes =
                data.slice((int) entry.from, (int) (entry.to - entry.from)).order(ByteOrder.LITTLE_ENDIAN);
        double[] values = new double[bytes.remaining() / width];
        for (int i = 0; i < values.length; i++) {
            values[i] = switch (entry.dtype) {
                case "F64" -> bytes.getDouble();
                case "F32" -> bytes.getFloat();
                case "I64" -> bytes.getLong();
                default -> bytes.getInt();
            };
        }
        return values;
    }

    private Entry entry(String name) {
        Entry entry = entries.get(name);
        if (entry == null) {
            throw new Refusal(file + " has no tensor " + name + "; it has " + entries.keySet());
        }
        return entry;
    }
}
