package hypertransfer.engine.cuda.kernel;

import static hypertransfer.engine.cuda.kernel.DeviceTensor.pointer;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Layers.HeadRule;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.cuda.driver.Device;
import hypertransfer.engine.cuda.driver.Launch;
import java.util.List;
import java.util.stream.Stream;

/**
 * Products that do what follows them, see {@code fused.cu}.
 *
 * @param turns the address of the rotary embedding's cosines and sines
 */
public record Fused(Device device, Kernels kernels, Dims dims, long turns) {
    /** Of the cards whose instructions it takes, 10 major + minor. */
    public static final int CAPABILITY = 90;

    static final int ROWS = 128, COLUMNS = 256, STAGES = 3, THREADS = 384;
    static final int PANEL = 64, PANELS = COLUMNS / PANEL; // what the copy engine moves, in columns
    private static final int HEADROOM = 64; // of softmax's powers: of two, see head.cu

    /** Of shared memory: tiles in flight, the result, barriers, and what aligns them. */
    static final int BYTES = 2 * PANEL * STAGES * (ROWS + COLUMNS) + 2 * ROWS * COLUMNS + 1024 + 128;

    /** One block per multiprocessor. */
    static Launch launch(Device device) {
        return new Launch(device.driver().multiprocessors(), 1, 1, THREADS, 1, BYTES);
    }

    /**
     * Whether the card and the sizes fit: whole panels of columns, at least two steps, and heads that divide a tile.
     *
     * @param target the card's own instructions, 10 major + minor; 0 where the compiler does not know them
     * @param shared bytes that a block may ask for
     */
    static boolean fits(Dims dims, Precision precision, int target, int shared) {
        return precision == Precision.BF16
                && target == CAPABILITY
                && shared >= BYTES
                && List.of(64, 128).contains(dims.D())
                && dims.plainAttention()
                && dims.C() % PANEL == 0
                && dims.C() >= 2 * PANEL
                && dims.F() % PANEL == 0;
    }

    /** The numbers of this class, for its file. */
    static String constants() {
        return "constexpr int ROWS = %d, COLUMNS = %d, STAGES = %d, THREADS = %d, BYTES = %d;\n"
                .formatted(ROWS, COLUMNS, STAGES, THREADS, BYTES);
    }

    /** Those of softmax's powers. */
    static String powers(Dims dims) {
        return "constexpr int POWERS = %d, HEADROOM = %d;\n".formatted(sums(dims), HEADROOM);
    }

    /** Sums of a row of powers: one per tile. */
    public static int sums(Dims dims) {
        return (dims.V() + COLUMNS - 1) / COLUMNS;
    }

    /** Whether a row of logits consists of whole panels. */
    public boolean softmax() {
        return dims.V() % PANEL == 0;
    }

    /** qkv = heads(x w^T). */
    public void heads(Tensor x, Tensor w, Tensor qkv, Tensor r, HeadRule rule) {
        kernels.queue(
                Kernel.PRODUCT_HEADS,
                launch(device),
                Stream.of(map(x, ROWS, 1), map(w, COLUMNS, 1), map(qkv, PANEL, PANELS)),
                Kernels.words(dims.N(), qkv.cols(), dims.C(), r, turns, rule.normQK(), rule.rotary(), rule.normV()));
    }

    /** s = relu(x w^T)^2. */
    public void reluSquared(Tensor x, Tensor w, Tensor s) {
        Stream<long[]> maps = Stream.of(map(x, ROWS, 1), map(w, COLUMNS, 1), map(s, PANEL, PANELS));
        kernels.queue(Kernel.PRODUCT_RELU_SQUARED, launch(device), maps, Kernels.words(dims.N(), dims.F(), dims.C()));
    }

    /** df = dy w times the slope of relu squared where it is s. */
    public void slope(Tensor dy, Tensor w, Tensor s, Tensor df) {
        kernels.queue(
                Kernel.PRODUCT_SLOPE,
                launch(device),
                Stream.of(map(dy, ROWS, 1), map(w, PANEL, PANELS), map(df, PANEL, PANELS), map(s, PANEL, PANELS)),
                Kernels.words(dims.N(), dims.F(), dims.C()));
    }

    /** e = 2^(x w^T log2(e) - top - HEADROOM), of so many rows from an address on, and the sums of its tiles' rows. */
    public void powers(long x, int rows, Tensor w, long e, long top, long sums) {
        long[] from = device.map(x, rows, dims.C(), ROWS, 1), to = device.map(e, rows, dims.V(), PANEL, PANELS);
        long[] words = Kernels.words(rows, dims.V(), dims.C(), top, sums);
        kernels.queue(Kernel.PRODUCT_POWERS, launch(device), Stream.of(from, map(w, COLUMNS, 1), to), words);
    }

    private long[] map(Tensor tensor, int rows, int panels) {
        return device.map(pointer(tensor), tensor.rows(), tensor.cols(), rows, panels);
    }
}
