package hypertransfer.train.data;

import hypertransfer.core.Refusal;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.OptionalLong;
import java.util.stream.LongStream;

/**
 * A file of tokens as llm.c writes it, mapped into memory: 256 little-endian int32 (magic, version, count, zeros), then
 * count uint16 ids.
 */
public final class Shard implements Tokens, AutoCloseable {
    public static final int MAGIC = 20240520;
    public static final int VERSION = 1;
    static final int HEADER = 256 * Integer.BYTES;

    /** Every uint16 is below it: a shard opened with it is not searched for ids beyond a vocabulary. */
    public static final int ANY_VOCABULARY = 1 << 16;

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfChar ID = ValueLayout.JAVA_CHAR_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final int CHUNK = 1 << 16; // tokens a task of a scan copies out of the mapping at once

    private final Path file;
    private final Arena arena;
    private final MemorySegment ids;
    private final long count;

    private Shard(Path file, Arena arena, MemorySegment ids) {
        this.file = file;
        this.arena = arena;
        this.ids = ids;
        this.count = ids.byteSize() / Character.BYTES;
    }

    /** Maps the file and checks all of it: header, size, and every id against a vocabulary of that many tokens. */
    public static Shard open(Path file, int vocabulary) {
        Arena arena = Arena.ofShared();
        try (FileChannel channel = FileChannel.open(file)) {
            MemorySegment all = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena);
            checkHeader(file, all);
            Shard shard = new Shard(file, arena, all.asSlice(HEADER));
            if (vocabulary < ANY_VOCABULARY) {
                shard.checkIds(vocabulary);
            }
            return shard;
        } catch (IOException e) {
            arena.close();
            throw new Refusal(
                    Files.exists(file)
                            ? "cannot read the shard " + file + ": " + e.getMessage()
                            : "there is no shard " + file + "; write shards with ht data tokenize",
                    e);
        } catch (RuntimeException e) {
            arena.close();
            throw e;
        }
    }

    private static void checkHeader(Path file, MemorySegment all) {
        if (all.byteSize() < HEADER) {
            throw new Refusal(file + " is not a shard, or is cut off: it has " + all.byteSize()
                    + " bytes, and the header alone has " + HEADER);
        }
        int magic = all.get(INT, 0), version = all.get(INT, 4);
        if (magic != MAGIC) {
            throw new Refusal(file + " is not a shard of GPT-2 tokens: it starts with " + magic
                    + " at byte 0, not with " + MAGIC + "; write shards with ht data tokenize");
        }
        if (version != VERSION) {
            throw new Refusal(file + " is a shard of version " + version + " (byte 4); only version " + VERSION
                    + ", uint16 tokens, can be read: write it again with ht data tokenize");
        }
        long count = Integer.toUnsignedLong(all.get(INT, 8)), size = HEADER + Character.BYTES * count;
        if (all.byteSize() != size) {
            throw new Refusal(file + " announces " + count + " tokens (byte 8) and so " + size + " bytes, but has "
                    + all.byteSize() + ": it is " + (all.byteSize() < size ? "cut off" : "damaged")
                    + "; fetch or write it again");
        }
    }

    private void checkIds(int vocabulary) {
        OptionalLong offender = chunks().map(from -> {
                    char[] chunk = chunk(from);
                    int largest = 0;
                    for (char id : chunk) {
                        largest = Math.max(largest, id);
                    }
                    if (largest < vocabulary) {
                        return -1;
                    }
                    int i = 0;
                    while (chunk[i] < vocabulary) {
                        i++;
                    }
                    return from + i;
                })
                .filter(position -> position >= 0)
                .findFirst();
        if (offender.isPresent()) {
            long position = offender.getAsLong();
            throw new Refusal(file + ": token " + position + " (byte " + (HEADER + Character.BYTES * position) + ") is "
                    + id(position) + ", beyond the vocabulary of " + vocabulary
                    + "; use a network with a larger vocabulary, or shards of the right tokens");
        }
    }

    /** How often each of the 65536 possible ids occurs. */
    public long[] histogram() {
        long[] occurrences = new long[ANY_VOCABULARY];
        chunks().sequential().forEach(from -> {
            for (char id : chunk(from)) {
                occurrences[id]++;
            }
        });
        return occurrences;
    }

    private LongStream chunks() {
        return LongStream.range(0, (count + CHUNK - 1) / CHUNK)
                .map(i -> i * CHUNK)
                .parallel();
    }

    private char[] chunk(long from) {
        char[] chunk = new char[(int) Math.min(CHUNK, count - from)];
        MemorySegment.copy(ids, ID, from * Character.BYTES, chunk, 0, chunk.length);
        return chunk;
    }

    private int id(long position) {
        return ids.get(ID, position * Character.BYTES);
    }

    @Override
    public String name() {
        return file.toString();
    }

    @Override
    public long count() {
        return count;
    }

    @Override
    public void read(long from, int[] into, int at, int count) {
        for (int i = 0; i < count; i++) {
            into[at + i] = id(from + i);
        }
    }

    /** The first ids, at most that many. */
    public int[] first(int most) {
        int[] first = new int[(int) Math.min(most, count)];
        Arrays.setAll(first, this::id);
        return first;
    }

    /** Gives the mapping back; reading afterwards fails. */
    @Override
    public void close() {
        arena.close();
    }
}
