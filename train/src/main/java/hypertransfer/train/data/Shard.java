package hypertransfer.train.data;

import hypertransfer.core.Refusal;
import hypertransfer.train.file.Atomic;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A file of tokens as llm.c writes it, mapped into memory: 256 little-endian int32 (magic, version, count, zeros), then
 * count uint16 ids.
 */
public record Shard(Path file, Arena arena, MemorySegment ids, int vocabulary) implements AutoCloseable {
    public static final int MAGIC = 20240520;
    public static final int VERSION = 1;
    static final int HEADER = 256 * Integer.BYTES;

    /** Every uint16 is below it, so a shard opened with it may hold any id. */
    public static final int ANY_VOCABULARY = 1 << 16;

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfChar ID = ValueLayout.JAVA_CHAR_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final int CHUNK = 1 << 16; // tokens

    /** Bytes in memory, each an id of its own; they have a name instead of a file. */
    static Shard of(String name, byte[] bytes) {
        MemorySegment ids = MemorySegment.ofArray(new char[bytes.length]);
        for (int i = 0; i < bytes.length; i++) {
            ids.setAtIndex(ID, i, (char) (bytes[i] & 0xff));
        }
        return new Shard(Path.of(name), Arena.ofShared(), ids, 256);
    }

    /**
     * Maps the file and checks header and size. Ids are checked as they are read: a corpus may be larger than memory, and
     * nobody should wait for all of it to be read before the first step.
     *
     * @param vocabulary every id must be below it
     */
    public static Shard open(Path file, int vocabulary) {
        Atomic.requireRegular(file);
        Arena arena = Arena.ofShared();
        try (FileChannel channel = FileChannel.open(file)) {
            MemorySegment all = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena);
            checkHeader(file, all);
            return new Shard(file, arena, all.asSlice(HEADER), vocabulary);
        } catch (IOException e) {
            arena.close();
            throw new Refusal(
                    Files.exists(file)
                            ? "cannot read the shard " + file + ": " + Atomic.reason(e)
                            : "there is no shard " + file
                                    + (file.isAbsolute()
                                            ? ""
                                            : " in " + Path.of("").toAbsolutePath())
                                    + "; name where it is, or write shards with ht data tokenize",
                    e);
        } catch (RuntimeException e) {
            arena.close();
            throw e;
        }
    }

    private static void checkHeader(Path file, MemorySegment all) {
        if (all.byteSize() < HEADER) {
            throw new Refusal(file + " is not a shard, or is cut off: it has " + all.byteSize()
                    + " bytes, and the header has " + HEADER + "; write shards with ht data tokenize");
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

    /** How often each of the 65536 possible ids occurs. */
    public long[] histogram() {
        long[] occurrences = new long[ANY_VOCABULARY];
        int[] chunk = new int[CHUNK];
        for (long from = 0; from < count(); from += CHUNK) {
            int here = (int) Math.min(CHUNK, count() - from);
            read(from, chunk, 0, here);
            for (int i = 0; i < here; i++) {
                occurrences[chunk[i]]++;
            }
        }
        return occurrences;
    }

    private int known(int id, long position) {
        if (id >= vocabulary) {
            throw new Refusal(file + ": token " + position + " (byte " + (HEADER + Character.BYTES * position) + ") is "
                    + id + ", beyond the vocabulary of " + vocabulary
                    + "; use a network with a larger vocabulary, or shards of the right tokens");
        }
        return id;
    }

    public long count() {
        return ids.byteSize() / Character.BYTES;
    }

    /** Copies the ids from..from+count-1 to into[at..]. The caller keeps within {@link #count()}. */
    public void read(long from, int[] into, int at, int count) {
        try {
            for (int i = 0; i < count; i++) {
                into[at + i] = known(ids.get(ID, (from + i) * Character.BYTES), from + i);
            }
        } catch (InternalError e) { // a page of the mapping has no file behind it any more
            throw new Refusal(
                    "the shard " + file + " was cut short or cannot be read any more (token " + from
                            + " and those after it); put the file back, then run the same command again to continue",
                    e);
        }
    }

    public int[] first(int most) {
        int[] first = new int[(int) Math.min(most, count())];
        read(0, first, 0, first.length);
        return first;
    }

    /** Gives the mapping back; reading afterwards fails. */
    @Override
    public void close() {
        arena.close();
    }
}
