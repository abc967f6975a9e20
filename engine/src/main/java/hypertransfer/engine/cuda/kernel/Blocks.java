package hypertransfer.engine.cuda.kernel;

import static hypertransfer.engine.cuda.kernel.DeviceTensor.pointer;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Layers.HeadRule;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.cuda.driver.Launch;
import java.util.stream.Stream;

/**
 * Attention in whole blocks of rows, see {@code blocks.cu}: copies by the copy engine, and a backward pass with five products instead
 * of {@code hopper.cu}'s seven.
 *
 * @param turns the address of the rotary embedding's cosines and sines
 * @param kept the address of {@link #scratch} bytes
 */
public record Blocks(Kernels kernels, Dims dims, long turns, long kept) {
    private static final int SIDE = 64,
            ROWS = 128,
            D = 128,
            WARPS = 8; // of a tile; of a block; of a head; that multiply
    private static final int THREADS = 384, ROW_THREADS = 256, ROW_LANES = 4;
    private static final int FORWARD_STAGES = 4,
            KEY_STAGES = 2,
            QUERY_STAGES = 6,
            TILE = 2 * SIDE * D,
            SQUARE = 2 * SIDE * SIDE;
    private static final int STATS = 2 * SIDE * Float.BYTES;
    private static final int KEYS = (8 + 2 * KEY_STAGES) * TILE + WARPS * SQUARE / 4 + KEY_STAGES * STATS;

    /** Of shared memory: tiles in flight, barriers, and what aligns them. */
    static final int BYTES = Math.max(KEYS, 2 * QUERY_STAGES * TILE) + 1024 + 128;

    private static final long MOST = 1L << 30; // bytes of scratch

    /** Whether sizes fit that {@code hopper.cu} takes: heads of 128, whole blocks of rows, and not too much to keep. */
    static boolean fits(Dims dims) {
        return dims.D() == D && dims.T() % ROWS == 0 && kept(dims) + stats(dims) <= MOST;
    }

    /** Bytes to keep from one kernel to the next; 0 where it never runs, whatever the card. */
    public static long scratch(Dims dims, Precision precision) {
        return precision == Precision.BF16 && dims.plainAttention() && fits(dims) ? kept(dims) + stats(dims) : 0;
    }

    /** The lower triangle of each head, in squares. */
    private static long kept(Dims dims) {
        long lines = dims.T() / SIDE;
        return (long) dims.B() * dims.H() * lines * (lines + 1) / 2 * SQUARE;
    }

    /** Two floats per row and head. */
    private static long stats(Dims dims) {
        return 2L * Float.BYTES * dims.N() * dims.H();
    }

    /** The numbers of this class, for its file. */
    static String constants() {
        return "constexpr int THREADS = %d, ROW_THREADS = %d, FORWARD_STAGES = %d, KEY_STAGES = %d, QUERY_STAGES = %d, BYTES = %d;\n"
                .formatted(THREADS, ROW_THREADS, FORWARD_STAGES, KEY_STAGES, QUERY_STAGES, BYTES);
    }

    /** Pairs of blocks of rows, one after the other on as many blocks of threads as the card runs at once. */
    static Launch launch(Dims dims, int multiprocessors) {
        int blocks = dims.T() / ROWS, pairs = (blocks + 1) / 2 * dims.B() * dims.H();
        return new Launch(Math.min(multiprocessors, pairs), 1, 1, THREADS, 1, BYTES);
    }

    /** From qkv to o. */
    public void forward(Tensor qkv, Tensor o, Tensor lse) {
        kernels.queue(
                Kernel.ATTENTION_FORWARD,
                launch(dims, kernels.device.driver.multiprocessors()),
                Stream.of(map(qkv), kernels.device.map(pointer(o), dims.N(), o.cols(), SIDE / 4, 1)),
                Kernels.words(lse, dims.B() * dims.H()));
    }

    /** From dO to dqkv before the heads' norms and turns. */
    public void backward(Tensor qkv, Tensor r, HeadRule rule, Tensor o, Tensor lse, Tensor dO, Tensor dqkv) {
        Launch launch = launch(dims, kernels.device.driver.multiprocessors());
        int heads = dims.B() * dims.H();
        long rows = (long) dims.N() * dims.H(), stats = kept + kept(dims);
        boolean norm = rule.normQK(), turn = rule.rotary();
        long[] from = map(qkv),
                to = kernels.device.map(pointer(dqkv), dims.N(), dqkv.cols() * dqkv.numberBytes() / 2, SIDE / 4, 1);
        kernels.launch(Kernel.BACKWARD_ROWS, Launch.each(ROW_LANES * rows, ROW_THREADS), o, dO, lse, stats, rows);
        kernels.queue(
                Kernel.BACKWARD_KEY,
                launch,
                Stream.of(from, map(dO), to),
                Kernels.words(stats, kept, r, turns, norm, turn, rule.normV(), heads));
        kernels.queue(
                Kernel.BACKWARD_QUERY, launch, Stream.of(from, to), Kernels.words(kept, r, turns, norm, turn, heads));
    }

    /** A tile is a head's two panels. */
    private long[] map(Tensor tensor) {
        return kernels.device.map(pointer(tensor), tensor.rows(), tensor.cols(), SIDE, 2);
    }
}
