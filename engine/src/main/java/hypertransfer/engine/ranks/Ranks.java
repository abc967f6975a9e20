package hypertransfer.engine.ranks;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;

/**
 * The processes that train one run together. Every method from {@link #begin} on is called by all ranks in the same
 * order. No call waits longer than a limit: one that would is refused with a sentence that names the ranks which did not
 * answer.
 */
public interface Ranks extends AutoCloseable {
    int rank();

    int size();

    /** What carries the bytes, for people. */
    String label();

    /** Whether tensors travel at all. */
    default boolean several() {
        return size() > 1;
    }

    /** The longest that any call waits. */
    Duration limit();

    /** Ten minutes until this is called. In one process nothing is late. */
    default void limit(Duration limit) {}

    /** Zeroed memory that {@link #begin} and {@link #gather} carry, on the host or on the card; freed by close. */
    default MemorySegment buffer(long bytes) {
        return Arena.ofAuto().allocate(bytes, 64);
    }

    /** Bytes under way. */
    interface Delivery {
        /** Waits until what is sent may change, and what is received may be read. */
        void await();
    }

    /**
     * Starts to bring part k of {@code out} to rank k, and part k of {@code in} from it, and returns at once. A rank's
     * own part is not touched, empty parts are not sent. Several may be under way; all ranks begin them in one order.
     */
    Delivery begin(List<MemorySegment> out, List<MemorySegment> in);

    /** Part k is copied from rank k to all others. */
    void gather(List<MemorySegment> parts);

    /** A few bytes of every rank, in the order of ranks. */
    List<byte[]> all(byte[] own);

    /** Bytes of every rank, in the order of ranks, at rank 0; elsewhere nothing. */
    default List<byte[]> collect(byte[] own) {
        List<byte[]> all = all(own);
        return rank() == 0 ? all : List.of();
    }

    /** Ends all ranks at once with this exit code, because this one cannot continue. Returns only where it is alone. */
    void abort(int code);

    /** Waits for the others to close too. */
    @Override
    default void close() {}

    /** A text of every rank, in the order of ranks. */
    default List<String> texts(String own) {
        return all(own.getBytes(StandardCharsets.UTF_8)).stream()
                .map(bytes -> new String(bytes, StandardCharsets.UTF_8))
                .toList();
    }

    /** The numbers of every rank, in the order of ranks; each may have another count. */
    default List<double[]> numbers(double... own) {
        return all(MemorySegment.ofArray(own).toArray(ValueLayout.JAVA_BYTE)).stream()
                .map(part -> MemorySegment.ofArray(part).toArray(ValueLayout.JAVA_DOUBLE_UNALIGNED))
                .toList();
    }

    /** Whether it holds at any rank. */
    default boolean any(boolean own) {
        return all(new byte[] {(byte) (own ? 1 : 0)}).stream().anyMatch(b -> b[0] == 1);
    }

    /** What the user wants tensors to be carried by between ranks. */
    enum Transport {
        /** NCCL where every rank has it and a card of its own, MPI elsewhere. */
        AUTO,
        MPI,
        NCCL
    }
}
