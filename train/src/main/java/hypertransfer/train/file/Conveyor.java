package hypertransfer.train.file;

import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Semaphore;

/**
 * A file on its way to the disk: one thread fills memory with its bytes, a second one writes them, and the checksum is
 * computed by all cores. Neither waits for the other unless the memory for what lies between them is used up.
 */
public final class Conveyor {
    private static final long BLOCK =
            8 << 20; // small tensors share one: a write of many bytes is cheaper than many writes
    private static final int UNIT = 1024; // bytes per permit, which are counted by an int
    private static final int AHEAD = 8;

    /** Entries one after the other, and their bytes to come. */
    private record Block(List<SafeTensorsWriter.Entry> entries, long size, CompletableFuture<Load> filled) {
        Block(List<SafeTensorsWriter.Entry> entries, long size) {
            this(entries, size, new CompletableFuture<>());
        }

        Load allocate() {
            Arena arena = Arena.ofShared();
            return new Load(arena, arena.allocate(size, 64));
        }
    }

    private record Load(Arena arena, MemorySegment bytes) {
        void free() {
            arena.close();
        }
    }

    private final Semaphore room;
    private final int most;
    private final CompletableFuture<Long> written = new CompletableFuture<>();

    private Conveyor(long bytes) {
        most = Math.clamp(bytes / UNIT, 1, 1 << 30);
        room = new Semaphore(most);
    }

    static Conveyor load(Path file, byte[] header, List<SafeTensorsWriter.Entry> entries, long room) {
        List<Block> blocks = blocks(entries);
        Conveyor conveyor = new Conveyor(room);
        Thread.ofPlatform()
                .daemon()
                .name("writing " + file.getFileName())
                .start(() -> conveyor.write(file, header, blocks));
        conveyor.fill(blocks);
        return conveyor;
    }

    private static List<Block> blocks(List<SafeTensorsWriter.Entry> entries) {
        List<Block> blocks = new ArrayList<>();
        List<SafeTensorsWriter.Entry> together = new ArrayList<>();
        long size = 0;
        for (SafeTensorsWriter.Entry entry : entries) {
            if (!together.isEmpty() && size + entry.size() > BLOCK) {
                blocks.add(new Block(List.copyOf(together), size));
                together.clear();
                size = 0;
            }
            together.add(entry);
            size += entry.size();
        }
        if (!together.isEmpty()) {
            blocks.add(new Block(together, size));
        }
        return blocks;
    }

    /** Asks for all bytes. Where the other thread has failed it stops: whoever asks for the end is told. */
    private void fill(List<Block> blocks) {
        Deque<CompletableFuture<Load>> ahead = new ArrayDeque<>(); // to fetch memory takes as long as to fill it
        int asked = 0;
        try {
            for (int i = 0; i < blocks.size() && !written.isDone(); i++) {
                while (asked < blocks.size() && asked < i + AHEAD && take(blocks.get(asked), asked == i)) {
                    ahead.add(CompletableFuture.supplyAsync(blocks.get(asked++)::allocate));
                }
                MemorySegment bytes = ahead.element().join().bytes;
                long at = 0;
                for (SafeTensorsWriter.Entry entry : blocks.get(i).entries) {
                    entry.source().accept(bytes.asSlice(at, entry.size()));
                    at += entry.size();
                }
                blocks.get(i).filled.complete(ahead.remove().join());
            }
        } catch (RuntimeException | Error e) {
            blocks.forEach(block -> block.filled.completeExceptionally(e));
            written.exceptionally(_ -> 0L).join(); // nothing is left beside the file
            throw e;
        } finally {
            ahead.forEach(load -> load.thenAccept(Load::free));
        }
    }

    private boolean take(Block block, boolean needed) {
        int permits = permits(block.size);
        if (needed) {
            room.acquireUninterruptibly(permits);
        }
        return needed || room.tryAcquire(permits);
    }

    private int permits(long bytes) {
        return (int) Math.min(most, Math.ceilDiv(bytes, UNIT));
    }

    private void write(Path file, byte[] header, List<Block> blocks) {
        try {
            long[] sum = new long[1];
            Atomic.write(file, channel -> sum[0] = write(channel, header, blocks));
            written.complete(sum[0]);
        } catch (RuntimeException | Error e) {
            written.completeExceptionally(e);
            room.release(most); // the other thread may be waiting for it
        }
    }

    private long write(FileChannel channel, byte[] header, List<Block> blocks) throws IOException {
        Deque<Block> left = new ArrayDeque<>(blocks);
        try (Flushing flushing = new Flushing(channel)) {
            long sum = write(channel, MemorySegment.ofArray(header), 0);
            while (!left.isEmpty()) {
                Load load = left.element().filled.join();
                sum = write(channel, load.bytes, sum);
                flushing.wrote(load.bytes.byteSize());
                load.free();
                room.release(permits(left.remove().size));
            }
            return sum;
        } finally {
            left.forEach(block -> block.filled.thenAccept(Load::free)); // now, or as soon as they are filled
        }
    }

    /** Writes bytes and returns the checksum of all so far. */
    private static long write(FileChannel channel, MemorySegment bytes, long before) throws IOException {
        CompletableFuture<Long> own = CompletableFuture.supplyAsync(() -> Checksum.of(bytes));
        try {
            for (long at = 0; at < bytes.byteSize(); at += BLOCK) {
                Atomic.writeFully(
                        channel,
                        bytes.asSlice(at, Math.min(BLOCK, bytes.byteSize() - at))
                                .asByteBuffer());
            }
        } finally {
            own.join(); // nobody reads memory that is given back
        }
        return Checksum.joined(before, own.join(), bytes.byteSize());
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

    /** Lets the disk begin with a large file while there is more to come, so that the flush at its end has little to do. */
    private static final class Flushing implements Closeable {
        private static final long MUCH = 128 << 20;

        private final FileChannel channel;
        private CompletableFuture<Void> flush = CompletableFuture.completedFuture(null);
        private long written;

        Flushing(FileChannel channel) {
            this.channel = channel;
        }

        void wrote(long bytes) {
            written += bytes;
            if (written >= MUCH && flush.isDone()) {
                written = 0;
                // a thread of its own: the common pool may have one, which has checksums to compute
                flush = flush.thenRunAsync(
                        this::force, task -> Thread.ofPlatform().daemon().start(task));
            }
        }

        private void force() {
            try {
                channel.force(false);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        /** Waits. A failure must be told here: a system tells it once, so a later flush may succeed. */
        @Override
        public void close() throws IOException {
            try {
                flush.join();
            } catch (CompletionException e) {
                throw e.getCause() instanceof UncheckedIOException io ? io.getCause() : new IOException(e.getCause());
            }
        }
    }
}
