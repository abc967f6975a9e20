package hypertransfer.engine;

import hypertransfer.engine.ranks.Exchange;
import hypertransfer.engine.ranks.Ranks;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * The operations that a GPT and its optimizers need, for one set of sizes.
 *
 * <p>First all tensors are declared, then {@link #commit}, called once, allocates them.
 *
 * <p>Everything is reproducible: the same calls give the same bits, whatever the number of threads inside the engine.
 * An engine is used by one thread at a time. {@link hypertransfer.engine.checked.Checked} refuses wrong calls; the engines behind it check nothing.
 */
public interface Engine extends Layers, Motion, AutoCloseable {
    double NORM_EPSILON = 1e-10;

    /** As many bits of mantissa as the widest format has. */
    int FULL_GRID = 53;

    /** {@code reference}, {@code cpu}, {@code cuda} or {@code cuda-float32}. */
    String name();

    Dims dims();

    /** Whether weights have a format of their own, so that they cannot be the masters themselves. */
    boolean separateWeights();

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

    /** One sentence about what is slower here than its user would expect, if anything is. */
    default Optional<String> remark() {
        return Optional.empty();
    }

    // ------------------------------------------------------------------ memory

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
    default Ranks carrier(Ranks ranks, Exchange choice) {
        if (choice == Exchange.NCCL) {
            throw new EngineException("ranks.carrier is nccl, which carries the memory of cards, and the engine is "
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
            Format format = Format.of(tensor.numberBytes());
            for (double value : read(tensor)) {
                format.put(to, at, value);
                at += format.bytes();
            }
        }
    }

    /** The reverse of {@link #pack}. */
    default void unpack(MemorySegment from, List<Tensor> tensors) {
        long at = 0;
        for (Tensor tensor : tensors) {
            Format format = Format.of(tensor.numberBytes());
            double[] values = new double[Math.toIntExact(tensor.size())];
            for (int i = 0; i < values.length; i++, at += format.bytes()) {
                values[i] = format.get(from, at);
            }
            write(tensor, values);
        }
    }

    /** Copies a tensor's numbers as they are to the host's memory, which has them on return. */
    default void store(Tensor tensor, MemorySegment to) {
        pack(List.of(tensor), to);
    }

    /** The reverse of {@link #store}; the memory may be used for something else on return. */
    default void load(MemorySegment from, Tensor tensor) {
        unpack(from, List.of(tensor));
    }

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

    /**
     * Does work that may be given up: once it is told to stop, an engine whose operations take seconds throws
     * {@link Stopped} from one of them. What the work would have written is then undefined.
     *
     * @param stop asked often, always by the thread that calls
     */
    default void until(BooleanSupplier stop, Runnable work) {
        work.run();
    }

    /** What computes the operations below. */
    Layers layers();

    @Override
    default void embed(Tensor w, Tensor x) {
        layers().embed(w, x);
    }

    @Override
    default void embedBackward(Tensor dx, Tensor dw) {
        layers().embedBackward(dx, dw);
    }

    @Override
    default void product(Tensor x, Tensor w, Tensor y) {
        layers().product(x, w, y);
    }

    @Override
    default void productInput(Tensor dy, Tensor w, Tensor dx) {
        layers().productInput(dy, w, dx);
    }

    @Override
    default void productWeight(Tensor dy, Tensor x, Tensor dw) {
        layers().productWeight(dy, x, dw);
    }

    @Override
    default void shift(Tensor y, Tensor b) {
        layers().shift(y, b);
    }

    @Override
    default void shiftBackward(Tensor dy, Tensor db) {
        layers().shiftBackward(dy, db);
    }

    @Override
    default void norm(Tensor x, Tensor gain, Tensor y, Tensor r, boolean center) {
        layers().norm(x, gain, y, r, center);
    }

    @Override
    default void normBackward(Tensor dy, Tensor x, Tensor gain, Tensor r, Tensor dx, Tensor dgain, boolean center) {
        layers().normBackward(dy, x, gain, r, dx, dgain, center);
    }

    @Override
    default void residualNorm(
            Tensor h, Tensor z, Tensor zr, Tensor out, Tensor gain, Tensor y, Tensor r, boolean center) {
        layers().residualNorm(h, z, zr, out, gain, y, r, center);
    }

    @Override
    default void residualNormBackward(
            Tensor dy,
            Tensor z,
            Tensor zr,
            Tensor out,
            Tensor gain,
            Tensor r,
            Tensor dh,
            Tensor dz,
            Tensor dgain,
            boolean center) {
        layers().residualNormBackward(dy, z, zr, out, gain, r, dh, dz, dgain, center);
    }

    @Override
    default void heads(Tensor qkv, Tensor r, HeadRule rule) {
        layers().heads(qkv, r, rule);
    }

    @Override
    default void headsBackward(Tensor dqkv, Tensor qkv, Tensor r, HeadRule rule) {
        layers().headsBackward(dqkv, qkv, r, rule);
    }

    @Override
    default void attention(Tensor qkv, Tensor o, Tensor lse) {
        layers().attention(qkv, o, lse);
    }

    @Override
    default void attentionBackward(Tensor qkv, Tensor o, Tensor lse, Tensor dO, Tensor dqkv) {
        layers().attentionBackward(qkv, o, lse, dO, dqkv);
    }

    @Override
    default void activation(Tensor f, Tensor fr, Tensor s, Nonlinearity kind) {
        layers().activation(f, fr, s, kind);
    }

    @Override
    default void activationBackward(Tensor f, Tensor fr, Tensor ds, Tensor df, Nonlinearity kind) {
        layers().activationBackward(f, fr, ds, df, kind);
    }

    @Override
    default void head(Tensor x, Tensor w, Tensor losses, double scale, Tensor dx, Tensor dw) {
        layers().head(x, w, losses, scale, dx, dw);
    }

    @Override
    default double[] logits(Tensor x, int row, Tensor w) {
        return layers().logits(x, row, w);
    }

    // --------------------------------------------------------------- optimizer

    /** What computes the operations below. */
    Motion motion();

    @Override
    default void momentum(List<Tensor> g, double[] scale, double beta, boolean nesterov, List<Tensor> m) {
        motion().momentum(g, scale, beta, nesterov, m);
    }

    @Override
    default void adam(
            List<Tensor> g,
            double[] scale,
            double beta1,
            double beta2,
            double epsilon,
            long t,
            List<Tensor> m,
            List<Tensor> v) {
        motion().adam(g, scale, beta1, beta2, epsilon, t, m, v);
    }

    @Override
    default void sign(List<Tensor> g, double[] scale, double look, double keep, List<Tensor> m) {
        motion().sign(g, scale, look, keep, m);
    }

    @Override
    default void clamp(List<Tensor> g, double[] scale, double limit) {
        motion().clamp(g, scale, limit);
    }

    @Override
    default void equalize(List<Tensor> g, double beta, double epsilon, double[] norm, List<Tensor> v) {
        motion().equalize(g, beta, epsilon, norm, v);
    }

    @Override
    default void cut(Tensor whole, List<Tensor> blocks) {
        motion().cut(whole, blocks);
    }

    @Override
    default void join(List<Tensor> blocks, Tensor whole) {
        motion().join(blocks, whole);
    }

    @Override
    default void orthogonalize(List<Tensor> x, Iteration iteration) {
        motion().orthogonalize(x, iteration);
    }

    @Override
    default void gram(List<Tensor> g, double[] scale, double beta, List<Tensor> left, List<Tensor> right) {
        motion().gram(g, scale, beta, left, right);
    }

    @Override
    default void rotate(List<Tensor> g, List<Tensor> left, List<Tensor> right, boolean back) {
        motion().rotate(g, left, right, back);
    }

    @Override
    default void refine(List<Tensor> gram, double[] shift, List<Tensor> basis) {
        motion().refine(gram, shift, basis);
    }

    @Override
    default double[] readings(List<Tensor> w, List<Tensor> u) {
        return motion().readings(w, u);
    }

    @Override
    default void move(List<Tensor> w, List<Tensor> u, double[] keep, double[] push) {
        motion().move(w, u, keep, push);
    }

    @Override
    default void represent(List<Tensor> masters, double[] scale, int grid, List<Tensor> weights) {
        motion().represent(masters, scale, grid, weights);
    }
}
