package hypertransfer.train.file;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Semaphore;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.zip.CRC32C;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * A .safetensors file on its way to the disk: one thread fills memory with its tensors, a second one writes them. Neither waits
 * for the other unless the memory for what lies between them is used up.
 */
public final class SafeTensorsWriter {
    /** What a file of any size can be written with. */
    private static final long LITTLE_ROOM = 64 << 20;

    private static final int PIECE = 8 << 20; // bytes of one write
    private static final int UNIT = 1024; // bytes per permit, which are counted by an int
    private static final int AHEAD = 8;

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

    /** A tensor's bytes. */
    private record Load(Arena arena, MemorySegment bytes) {
        static Load of(long size) {
            Arena arena = Arena.ofShared();
            return new Load(arena, arena.allocate(size, 64));
        }

        void free() {
            arena.close();
        }
    }

    private final List<Entry> entries;
    private final List<CompletableFuture<Load>> filled; // one for each entry
    private final Semaphore room;
    private final int most;
    private final CompletableFuture<Long> written = new CompletableFuture<>();

    private SafeTensorsWriter(List<Entry> entries, long bytes) {
        this.entries = entries;
        filled = entries.stream().map(_ -> new CompletableFuture<Load>()).toList();
        most = Math.clamp(bytes / UNIT, 1, 1 << 30);
        room = new Semaphore(most);
    }

    /** Writes the file, a few tensors in memory at a time, and returns its CRC-32C. */
    public static long write(Path file, List<Entry> entries, Map<String, String> metadata) {
        return begin(file, entries, metadata, LITTLE_ROOM).finish();
    }

    /**
     * Asks for the bytes of all tensors, in this thread and in their order, while another thread writes them. Returns as
     * soon as all are in memory.
     *
     * @param room how many bytes may wait in memory; with less than the file's size this returns later, with any it works
     */
    public static SafeTensorsWriter begin(Path file, List<Entry> entries, Map<String, String> metadata, long room) {
        SafeTensorsWriter writer = new SafeTensorsWriter(entries, room);
        byte[] header = header(entries, metadata);
        Thread.ofPlatform().daemon().name("writing " + file.getFileName()).start(() -> writer.write(file, header));
        writer.fill();
        return writer;
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

    private static void encode(double[] values, int bytes, MemorySegment to) {
        if (bytes == Double.BYTES) {
            MemorySegment.copy(values, 0, to, SafeTensors.F64, 0, values.length);
        } else {
            for (int i = 0; i < values.length; i++) {
                to.setAtIndex(SafeTensors.F32, i, (float) values[i]);
            }
        }
    }

    /** Asks for all bytes. Where the other thread has failed it stops: whoever asks for the end is told. */
    private void fill() {
        Deque<CompletableFuture<Load>> ahead = new ArrayDeque<>(); // to fetch memory takes as long as to fill it
        int asked = 0;
        try {
            for (int i = 0; i < entries.size() && !written.isDone(); i++) {
                while (asked < entries.size()
                        && asked < i + AHEAD
                        && take(entries.get(asked).size(), asked == i)) {
                    long size = entries.get(asked++).size();
                    ahead.add(CompletableFuture.supplyAsync(() -> Load.of(size)));
                }
                entries.get(i).source().accept(ahead.element().join().bytes);
                filled.get(i).complete(ahead.remove().join());
            }
        } catch (RuntimeException | Error e) {
            filled.forEach(load -> load.completeExceptionally(e));
            written.exceptionally(_ -> 0L).join(); // nothing is left beside the file
            throw e;
        } finally {
            ahead.forEach(load -> load.thenAccept(Load::free));
        }
    }

    private boolean take(long size, boolean needed) {
        int permits = permits(size);
        if (needed) {
            room.acquireUninterruptibly(permits);
        }
        return needed || room.tryAcquire(permits);
    }

    private int permits(long bytes) {
        return (int) Math.min(most, Math.ceilDiv(bytes, UNIT));
    }

    private void write(Path file, byte[] header) {
        try {
            CRC32C sum = new CRC32C();
            Atomic.write(file, channel -> write(channel, header, sum));
            written.complete(sum.getValue());
        } catch (RuntimeException | Error e) {
            written.completeExceptionally(e);
            room.release(most); // the other thread may be waiting for it
        }
    }

    private void write(FileChannel channel, byte[] header, CRC32C sum) throws IOException {
        Deque<CompletableFuture<Load>> left = new ArrayDeque<>(filled);
        try {
            write(channel, MemorySegment.ofArray(header), sum);
            for (Entry entry : entries) {
                Load load = left.element().join();
                write(channel, load.bytes, sum);
                left.remove();
                load.free();
                room.release(permits(entry.size()));
            }
        } finally {
            left.forEach(load -> load.thenAccept(Load::free)); // now, or as soon as they are filled
        }
    }

    private static void write(FileChannel channel, MemorySegment bytes, CRC32C sum) throws IOException {
        for (long at = 0; at < bytes.byteSize(); at += PIECE) {
            ByteBuffer piece =
                    bytes.asSlice(at, Math.min(PIECE, bytes.byteSize() - at)).asByteBuffer();
            sum.update(piece);
            Atomic.writeFully(channel, piece.flip());
        }
    }

    /** Whether {@link #finish} returns at once. */
    public boolean done() {
        return written.isDone();
    }

    /** Waits until the file is there and returns its CRC-32C, or throws what kept it from being written. */
    public long finish() {
        try {
            return written.join();
        } catch (CompletionException e) {
            switch (e.getCause()) {
                case RuntimeException cause -> throw cause;
                case Error cause -> throw cause;
                default -> throw e;
            }
        }
    }
}
