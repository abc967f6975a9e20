package hypertransfer.train.file;

import hypertransfer.core.Refusal;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.IntToDoubleFunction;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** A .safetensors file, mapped: an 8-byte length, a JSON header, then the bytes of all tensors. */
public final class SafeTensors implements AutoCloseable {
    private static final long LARGEST_HEADER = 100_000_000; // the format's own limit
    private static final ValueLayout.OfLong I64 = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    static final ValueLayout.OfDouble F64 = ValueLayout.JAVA_DOUBLE_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfShort I16 = ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt I32 = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    /** Where one tensor lies in the data. */
    private record Entry(String dtype, int[] shape, long from, long to) {}

    private final Path file;
    private final Arena arena;
    private final MemorySegment whole;
    private final MemorySegment data;
    private final Map<String, Entry> entries = new LinkedHashMap<>();

    private SafeTensors(Path file, Arena arena) throws IOException {
        this.file = file;
        this.arena = arena;
        try (FileChannel channel = FileChannel.open(file)) {
            whole = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena);
        }
        long size = whole.byteSize();
        long header = size < 8 ? -1 : whole.get(I64, 0);
        if (header < 2 || header > Math.min(LARGEST_HEADER, size - 8)) {
            throw new Refusal(file + " is not a safetensors file, or is cut off: its header of " + header
                    + " bytes does not fit into the file's " + size);
        }
        data = whole.asSlice(8 + header);
        index(new String(whole.asSlice(8, header).toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8));
    }

    public static SafeTensors read(Path file) {
        Atomic.requireRegular(file);
        Arena arena = Arena.ofShared();
        try {
            return new SafeTensors(file, arena);
        } catch (RuntimeException e) {
            arena.close();
            throw e;
        } catch (IOException e) {
            arena.close();
            if (Files.notExists(file)) {
                throw new Refusal("cannot read " + file + ": there is no such file", e);
            }
            throw Atomic.failed("read", file, e);
        }
    }

    private void index(String header) {
        try {
            for (Map.Entry<String, JsonNode> field :
                    JsonMapper.shared().readTree(header).properties()) {
                if (!field.getKey().equals("__metadata__")) {
                    JsonNode node = field.getValue(),
                            offsets = node.required("data_offsets"),
                            sizes = node.required("shape");
                    int[] shape = new int[sizes.size()];
                    Arrays.setAll(shape, i -> sizes.get(i).asInt());
                    String dtype = node.required("dtype").asString();
                    Entry entry = new Entry(
                            dtype,
                            shape,
                            offsets.required(0).asLong(),
                            offsets.required(1).asLong());
                    check(field.getKey(), entry);
                    entries.put(field.getKey(), entry);
                }
            }
            long end = entries.values().stream().mapToLong(Entry::to).max().orElse(0);
            if (end != data.byteSize()) {
                throw new Refusal(file + " has " + (data.byteSize() - end) + " bytes after its last tensor; it is"
                        + " damaged, or two files in one");
            }
        } catch (JacksonException e) {
            throw new Refusal(file + " has a damaged safetensors header; fetch or write the file again", e);
        }
    }

    private void check(String name, Entry entry) {
        long numbers = Arrays.stream(entry.shape).asLongStream().reduce(1, (a, b) -> a * b);
        long expected = numbers * width(name, entry);
        if (entry.from < 0
                || entry.to < entry.from
                || entry.to - entry.from != expected
                || entry.to > data.byteSize()) {
            throw new Refusal(file + ": tensor " + name + " of " + expected + " bytes claims the bytes " + entry.from
                    + " to " + entry.to + " of " + data.byteSize() + "; the file is cut off or damaged");
        }
    }

    private int width(String name, Entry entry) {
        return switch (entry.dtype) {
            case "F64", "I64" -> 8;
            case "F32", "I32" -> 4;
            case "BF16", "F16" -> 2;
            default ->
                throw new Refusal(file + ": tensor " + name + " has type " + entry.dtype
                        + "; F64, F32, BF16, F16, I64 and I32 can be read");
        };
    }

    public Set<String> names() {
        return entries.keySet();
    }

    public int[] shape(String name) {
        return entry(name).shape.clone();
    }

    public boolean integers(String name) {
        return entry(name).dtype.startsWith("I");
    }

    public int numberBytes(String name) {
        return width(name, entry(name));
    }

    /** The values of a tensor, whatever its type; all but I64 become doubles exactly. */
    public double[] values(String name) {
        Entry entry = entry(name);
        int width = width(name, entry);
        int count = Math.toIntExact((entry.to - entry.from) / width);
        MemorySegment own = data.asSlice(entry.from, entry.to - entry.from);
        return switch (entry.dtype) {
            case "F64" -> own.toArray(F64);
            case "F32" -> values(count, i -> own.getAtIndex(F32, i));
            case "BF16" -> values(count, i -> Float.intBitsToFloat(own.getAtIndex(I16, i) << 16));
            case "F16" -> values(count, i -> Float.float16ToFloat(own.getAtIndex(I16, i)));
            case "I64" -> values(count, i -> own.getAtIndex(I64, i));
            default -> values(count, i -> own.getAtIndex(I32, i));
        };
    }

    private static double[] values(int count, IntToDoubleFunction value) {
        double[] values = new double[count];
        Arrays.parallelSetAll(values, value);
        return values;
    }

    /** The bytes of a tensor of floats or doubles, as the file has them; empty where it has other numbers. */
    public Optional<MemorySegment> bytes(String name) {
        Entry entry = entry(name);
        return entry.dtype.equals("F32") || entry.dtype.equals("F64")
                ? Optional.of(data.asSlice(entry.from, entry.to - entry.from))
                : Optional.empty();
    }

    /** The CRC-32C of the whole file. */
    public long checksum() {
        return Checksum.of(whole);
    }

    @Override
    public void close() {
        arena.close();
    }

    private Entry entry(String name) {
        Entry entry = entries.get(name);
        if (entry == null) {
            throw new Refusal(file + " has no tensor " + name + "; it has " + entries.keySet());
        }
        return entry;
    }
}
