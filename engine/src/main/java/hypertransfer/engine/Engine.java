package hypertransfer.engine;

import hypertransfer.engine.ranks.Exchange;
import hypertransfer.engine.ranks.Ranks;
import hypertransfer.engine.ranks.Ranks.Transport;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * The operations that a GPT and its optimizers need, for one set of sizes.
 *
 * <p>First all tensors are declared, then {@link #commit}, called once, allocates them.
 *
 * <p>Everything is reproducible: the same calls give the same bits, whatever the number of threads inside the engine.
 * An engine is used by one thread at a time. {@link hypertransfer.engine.door.Checked} refuses wrong calls; the engines behind it check nothing.
 */
public interface Engine extends AutoCloseable {
    double NORM_EPSILON = 1e-10;

    /** {@code reference}, {@code cpu}, {@code cuda} or {@code cuda-float32}. */
    String name();

    Dims dims();

    /** Whether weights have a format of their own, so that they cannot be the masters themselves. */
    default boolean separateWeights() {
        return false;
    }

    /** The format of weights and activations, which bounds the accuracy of what is computed. */
    default Format weights() {
        return Format.FLOAT32;
    }

    /**
     * Names a file for what the engine decides by measuring, such as the algorithm of each matrix product. What the file
     * holds is followed; what it lacks is decided and added. So a run that is resumed keeps the bits it began with. To be
     * called before the first product; an engine that decides nothing by measuring writes no file.
     */
    default void decisions(Path file) {}

    /**
     * Does work as often as the engine needs in order to take these decisions by measuring inside of it; not at all where
     * there are none to take. To be called before the first product that counts.
     *
     * @param work can be done any number of times
     */
    default void decide(Runnable work) {}

    /**
     * What of this machine the bits of its results depend on, such as {@code vectors of 256 bits, OpenBLAS for zen}; empty
     * where they depend on nothing that is not recorded elsewhere. A run that continues under another one has other bits.
     */
    default String provenance() {
        return "";
    }

    /** One sentence about what is slower here than its user would expect, if anything is. */
    default Optional<String> remark() {
        return Optional.empty();
    }

    /** Multiplications and additions per second that its products could reach by the maker's word; 0 where that is not known. */
    default double peak() {
        return 0;
    }

    // ------------------------------------------------------------------ memory

    /** Waits for all that was asked before. Nothing to do where an operation is done when it returns. */
    default void await() {}

    /** Declares a tensor of zeros. */
    Tensor tensor(Role role, String name, int rows, int cols);

    /** The rows {@code from} to {@code from + rows} of a tensor, sharing its memory. */
    Tensor slice(Tensor whole, String name, int from, int rows);

    /** Allocates all that was declared, once; refuses, with the table, what does not fit. */
    Memory commit();

    void write(Tensor tensor, double[] values);

    double[] read(Tensor tensor);

    /** The sum of a tensor, in double. Waits for all that was asked before. */
    double sum(Tensor tensor);

    void zero(List<Tensor> tensors);

    /**
     * What carries this engine's tensors between ranks: the ranks themselves, through the host's memory, or what its
     * cards have for it. Called by all ranks; what it returns is closed before the engine, unless it is the ranks.
     */
    default Exchange transport(Ranks ranks, Transport choice) {
        if (choice == Transport.NCCL) {
            throw new EngineException("ranks.transport is nccl, which works only between cards, and the engine is "
                    + name() + "; set it to auto or mpi");
        }
        return ranks;
    }

    /**
     * Copies tensors as they are, one after the other, to memory that {@link hypertransfer.engine.ranks.Ranks} carries. What
     * is begun afterwards carries them; the host's memory has them on return.
     */
    default void pack(List<Tensor> tensors, MemorySegment to) {
        long at = 0;
        for (Tensor tensor : tensors) {
            store(tensor, to.asSlice(at, tensor.bytes()));
            at += tensor.bytes();
        }
    }

    /** The reverse of {@link #pack}. */
    default void unpack(MemorySegment from, List<Tensor> tensors) {
        long at = 0;
        for (Tensor tensor : tensors) {
            load(from.asSlice(at, tensor.bytes()), tensor);
            at += tensor.bytes();
        }
    }

    /** Copies a tensor's numbers as they are to the host's memory, which has them on return. */
    void store(Tensor tensor, MemorySegment to);

    /** The reverse of {@link #store}; the memory may be used for something else on return. */
    void load(MemorySegment from, Tensor tensor);

    /** Frees everything. May be called again. */
    @Override
    void close();

    // ----------------------------------------------------------------- network

    /** The micro-batch that embed and head work on: N tokens, and the N that follow them. */
    void feed(int[] inputs, int[] targets);

    /**
     * Runs operations that are the same at every call of this name, so that an engine may record them once and replay
     * them: the same operations on the same tensors with the same numbers. None may wait or read, and embedBackward,
     * whose work depends on the tokens, must stay outside.
     */
    default void replay(String name, Runnable operations) {
        operations.run();
    }

    /** What a network computes. Asked for after {@link #commit} on an engine without {@code Checked} before it. */
    Layers layers();

    /** What an optimizer does. Likewise. */
    Motion motion();
}
