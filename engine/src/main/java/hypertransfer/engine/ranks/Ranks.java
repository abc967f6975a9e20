package hypertransfer.engine.ranks;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;

/**
 * The processes that train one run together, which can exchange tensors by way of the host. Every method from {@link #all}
 * on is called by all ranks in the same order.
 */
public interface Ranks extends Exchange {
    int rank();

    int size();

    @Override
    default boolean several() {
        return size() > 1;
    }

    /** The longest that any call waits. */
    Duration limit();

    /** Ten minutes until this is called. In one process nothing is late. */
    default void limit(Duration limit) {}

    /** A few bytes of every rank, in the order of ranks. */
    List<byte[]> all(byte[] own);

    /** Bytes of every rank, in the order of ranks, at rank 0; elsewhere nothing. */
    default List<byte[]> collect(byte[] own) {
        List<byte[]> all = all(own);
        return rank() == 0 ? all : List.of();
    }

    /** Ends all ranks at once with this exit code, because this one cannot continue. Returns only where it is alone. */
    void abort(int code);

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
