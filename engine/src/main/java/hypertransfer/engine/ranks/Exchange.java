package hypertransfer.engine.ranks;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * What brings tensors from rank to rank. All ranks call it in the same order. No call waits longer than {@link Ranks#limit}:
 * one that would is refused with a sentence that names the ranks which did not answer.
 */
public interface Exchange extends AutoCloseable {
    /** What carries the bytes, for people. */
    String label();

    /** Whether tensors travel at all. */
    boolean several();

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

    /** Waits for the others to close too. */
    @Override
    default void close() {}
}
