package hypertransfer.engine;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * The operations that a GPT and its optimizers need, for one set of sizes. Shapes stand beside the names; the letters
 * are those of {@link Dims}, N = B T, and "in,out" are a matrix's own.
 *
 * <p>First all tensors are declared, then {@link #commit}, called once, allocates them. Forward operations overwrite
 * their outputs. Backward operations overwrite the gradients of activations and add to those of parameters. Norms are
 * RMS norms, {@code x r} with {@code r = 1/sqrt(mean(x^2) + 1e-10)}, times {@code 1 + gain} where there is a gain;
 * {@code r} is kept, one number per row. A norm that is asked to center takes the row's mean away first, which makes it a
 * LayerNorm.
 *
 * <p>Everything is reproducible: the same calls give the same bits, whatever the number of threads inside the engine.
 * An engine is used by one thread at a time. {@link Checked} refuses wrong calls; the engines behind it check nothing.
 */
public interface Engine extends Motion, AutoCloseable {
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
     * Copies tensors as they are, one after the other, to memory that {@link hypertransfer.engine.Ranks} carries. What
     * is begun afterwards carries them; the host's memory has them on return.
     */
    default void pack(List<Tensor> tensors, MemorySegment to) {
        long at = 0;
        for (Tensor tensor : tensors) {
            int bytes = tensor.numberBytes();
            for (double value : read(tensor)) {
                switch (bytes) {
                    case 8 -> to.set(ValueLayout.JAVA_DOUBLE_UNALIGNED, at, value);
                    case 4 -> to.set(ValueLayout.JAVA_FLOAT_UNALIGNED, at, (float) value);
                    case 2 -> // bfloat16, the upper half of a float
                        to.set(ValueLayout.JAVA_SHORT_UNALIGNED, at, (short)
                                (Float.floatToRawIntBits((float) value) >> 16));
                    default -> throw new EngineException(tensor.name() + " has numbers of " + bytes + " bytes");
                }
                at += bytes;
            }
        }
    }

    /** The reverse of {@link #pack}. */
    default void unpack(MemorySegment from, List<Tensor> tensors) {
        long at = 0;
        for (Tensor tensor : tensors) {
            int bytes = tensor.numberBytes();
            double[] values = new double[Math.toIntExact(tensor.size())];
            for (int i = 0; i < values.length; i++, at += bytes) {
                values[i] = switch (bytes) {
                    case 8 -> from.get(ValueLayout.JAVA_DOUBLE_UNALIGNED, at);
                    case 4 -> from.get(ValueLayout.JAVA_FLOAT_UNALIGNED, at);
                    case 2 -> Float.intBitsToFloat(from.get(ValueLayout.JAVA_SHORT_UNALIGNED, at) << 16);
                    default -> throw new EngineException(tensor.name() + " has numbers of " + bytes + " bytes");
                };
            }
            write(tensor, values);
        }
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

    /** x = w[inputs]. x (N,C), w (V,C). */
    void embed(Tensor w, Tensor x);

    void embedBackward(Tensor dx, Tensor dw);

    /** y = x w^T. x (N,in), w (out,in), y (N,out). */
    void product(Tensor x, Tensor w, Tensor y);

    /** dx = dy w. */
    void productInput(Tensor dy, Tensor w, Tensor dx);

    /** dw += dy^T x. */
    void productWeight(Tensor dy, Tensor x, Tensor dw);

    /**
     * y += b, where row n of y gets row n modulo R of b: a bias with R = 1, learned positions with R = T. y (N,out), b (R,out).
     */
    void shift(Tensor y, Tensor b);

    /** db += the sum of the rows of dy that share it. */
    void shiftBackward(Tensor dy, Tensor db);

    /** y = norm(x, gain). x, y (N,C), gain (1,C), r (N,1). */
    void norm(Tensor x, Tensor gain, Tensor y, Tensor r, boolean center);

    /** dx = the gradient through the norm; dgain += its share. */
    void normBackward(Tensor dy, Tensor x, Tensor gain, Tensor r, Tensor dx, Tensor dgain, boolean center);

    /**
     * The end of a sublayer and the start of the next: out = h + post(z), y = norm(out, gain). post is a norm without
     * gain that leaves zr (N,1), or the identity where zr is null; it never centers.
     */
    void residualNorm(Tensor h, Tensor z, Tensor zr, Tensor out, Tensor gain, Tensor y, Tensor r, boolean center);

    /**
     * On entry dh holds what later blocks sent to out; on return, what goes to h. dz = the gradient at z; where zr is
     * null that is dh itself, and dz is not written.
     */
    void residualNormBackward(
            Tensor dy,
            Tensor z,
            Tensor zr,
            Tensor out,
            Tensor gain,
            Tensor r,
            Tensor dh,
            Tensor dz,
            Tensor dgain,
            boolean center);

    /**
     * Per head and in place: q, k = rotary(norm(q)), rotary(norm(k)), and v = norm(v), each if so asked. qkv (N,QD): H
     * heads of queries, then G of keys, then G of values; r (N,Q), written for the heads that are normed.
     */
    void heads(Tensor qkv, Tensor r, HeadRule rule);

    /** dqkv in place. */
    void headsBackward(Tensor dqkv, Tensor qkv, Tensor r, HeadRule rule);

    /**
     * Causal softmax attention over the last W keys, scale 1/sqrt(D); head h of queries meets head h G/H of keys and values.
     * o (N,C), lse (N,H): the logarithm of each row's sum.
     */
    void attention(Tensor qkv, Tensor o, Tensor lse);

    void attentionBackward(Tensor qkv, Tensor o, Tensor lse, Tensor dO, Tensor dqkv);

    /**
     * s = kind(post(f)), post as above for each of the kind's inputs, which lie beside each other in f (N,F inputs); fr
     * (N,inputs), s (N,F).
     */
    void activation(Tensor f, Tensor fr, Tensor s, Nonlinearity kind);

    /** df = the gradient at f. It may be ds itself where the kind has one input. */
    void activationBackward(Tensor f, Tensor fr, Tensor ds, Tensor df, Nonlinearity kind);

    // Two operations that follow each other, for engines that do both at once.

    /** {@link #product}, then {@link #heads}. x (N,C), w (QD,C). */
    default void productHeads(Tensor x, Tensor w, Tensor qkv, Tensor r, HeadRule rule) {
        product(x, w, qkv);
        heads(qkv, r, rule);
    }

    /** {@link #attentionBackward}, then {@link #headsBackward}. */
    default void attentionHeadsBackward(
            Tensor qkv, Tensor r, HeadRule rule, Tensor o, Tensor lse, Tensor dO, Tensor dqkv) {
        attentionBackward(qkv, o, lse, dO, dqkv);
        headsBackward(dqkv, qkv, r, rule);
    }

    /**
     * {@link #product}, then {@link #activation} without a norm. x (N,C), w (F inputs,C). An engine that finds the slope from s
     * leaves f as it was.
     */
    default void productActivation(Tensor x, Tensor w, Tensor f, Tensor s, Nonlinearity kind) {
        product(x, w, f);
        activation(f, null, s, kind);
    }

    /** {@link #productInput}, then {@link #activationBackward}, after {@link #productActivation}. dy (N,C), w (C,F). */
    default void productActivationBackward(
            Tensor dy, Tensor w, Tensor f, Tensor s, Tensor ds, Tensor df, Nonlinearity kind) {
        productInput(dy, w, ds);
        activationBackward(f, null, ds, df, kind);
    }

    /**
     * Cross entropy of the targets under softmax(x w^T): losses (N,1), and, unless dx is null, dx and dw += the
     * gradients of scale times their sum. The logits are never kept. x (N,C), w (V,C).
     */
    void head(Tensor x, Tensor w, Tensor losses, double scale, Tensor dx, Tensor dw);

    /** The logits of one row of x. */
    double[] logits(Tensor x, int row, Tensor w);

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
