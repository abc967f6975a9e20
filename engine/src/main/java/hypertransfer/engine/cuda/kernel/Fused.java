package hypertransfer.engine.cuda.kernel;

import static hypertransfer.engine.cuda.kernel.DeviceTensor.pointer;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Layers.HeadRule;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.cuda.driver.Launch;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Products that do what follows them, see {@code fused.cu}.
 *
 * @param turns the address of the rotary embedding's cosines and sines
 */
public record Fused(Kernels kernels, Dims dims, long turns) {
    /** Of the cards whose instructions it takes, 10 major + minor. */
    public static final int CAPABILITY = 90;

    /** Of tiles of eight bits; all sides are multiples of it. */
    public static final int EIGHT_SIDE = 128;

    static final int ROWS = 128, COLUMNS = 256, STAGES = 3, THREADS = 384;
    static final int PANEL = 64, PANELS = COLUMNS / PANEL; // what the copy engine moves, in columns
    private static final int HEADROOM = 64; // of softmax's powers: of two, see head.cu

    /** Of shared memory: tiles in flight, the result, barriers, and what aligns them. */
    static final int BYTES = 2 * PANEL * STAGES * (ROWS + COLUMNS) + 2 * ROWS * COLUMNS + 1024 + 128;

    /** One block per multiprocessor. */
    static Launch launch(Kernels kernels) {
        return new Launch(kernels.device.driver.multiprocessors(), 1, 1, THREADS, 1, BYTES);
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

    /** What keeps these sizes from products of eight bits; empty where nothing does. The arguments are those of {@link #fits}. */
    static String missingEight(Dims dims, int target, int shared) {
        boolean whole = IntStream.of(dims.N(), dims.C(), dims.F(), dims.V()).allMatch(size -> size % EIGHT_SIDE == 0);
        return target != CAPABILITY
                ? "fp8 needs a card of compute capability 9.0, such as an H100 or H200; set model.precision to auto"
                : !fits(dims, Precision.BF16, target, shared) || !whole || dims.C() < 2 * EIGHT_SIDE
                        ? "fp8 needs a vocabulary, a width of 256 or more, an MLP's width and tokens in a micro-batch that are"
                                + " multiples of 128, heads of 64 or 128, no window and no shared key/value heads, and met "
                                + dims + "; change these, or set model.precision to auto"
                        : "";
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

    /**
     * qkv = heads(x w^T).
     *
     * @param by what undoes the scales of eight bits, here and below; not used in bfloat16
     */
    public void heads(Tensor x, Tensor w, Tensor qkv, Tensor r, HeadRule rule, double by) {
        Stream<long[]> maps = Stream.of(map(x, ROWS, 1), map(w, COLUMNS, 1), map(qkv, PANEL, PANELS));
        boolean norm = rule.normQK(), turn = rule.rotary(), normV = rule.normV();
        queue(Kernel.PRODUCT_HEADS, w, by, maps, dims.N(), qkv.cols(), steps(w), r, turns, norm, turn, normV);
    }

    /** s = relu(x w^T)^2; of eight bits relu(by x w^T)^2. */
    public void reluSquared(Tensor x, Tensor w, Tensor s, double by) {
        Stream<long[]> maps = Stream.of(map(x, ROWS, 1), map(w, COLUMNS, 1), map(s, PANEL, PANELS));
        queue(Kernel.PRODUCT_RELU_SQUARED, w, by, maps, dims.N(), dims.F(), steps(w));
    }

    /** df = dy w times the slope of relu squared where it is s; of eight bits by sqrt(s) dy w, where w is given transposed. */
    public void slope(Tensor dy, Tensor w, Tensor s, Tensor df, double by) {
        long[] weights = DeviceTensor.eight(w) ? map(w, COLUMNS, 1) : map(w, PANEL, PANELS);
        Stream<long[]> maps = Stream.of(map(dy, ROWS, 1), weights, map(df, PANEL, PANELS), map(s, PANEL, PANELS));
        queue(Kernel.PRODUCT_SLOPE, w, by, maps, dims.N(), dims.F(), steps(dy));
    }

    /** e = 2^(x w^T log2(e) - top - HEADROOM), of so many rows from an address on, and the sums of its tiles' rows. */
    public void powers(long x, int rows, Tensor w, long e, long top, long sums, double by) {
        long[] from = kernels.device.map(x, rows, steps(w), ROWS, 1);
        long[] to = kernels.device.map(e, rows, dims.V(), PANEL, PANELS);
        Stream<long[]> maps = Stream.of(from, map(w, COLUMNS, 1), to);
        queue(Kernel.PRODUCT_POWERS, w, by, maps, rows, dims.V(), steps(w), top, sums);
    }

    /** The kernel, or where w has eight bits the one beside it, with one word more. */
    private void queue(Kernel kernel, Tensor w, double by, Stream<long[]> maps, Object... words) {
        boolean eight = DeviceTensor.eight(w);
        long[] all = Arrays.copyOf(Kernels.words(words), words.length + (eight ? 1 : 0));
        if (eight) {
            all[words.length] = Double.doubleToRawLongBits(by);
        }
        kernels.queue(eight ? Kernel.valueOf(kernel + "_8") : kernel, launch(kernels), maps, all);
    }

    /** Of a row, in pairs of bytes. */
    private static int steps(Tensor x) {
        return x.cols() * x.numberBytes() / 2;
    }

    /** A panel is 128 bytes of a row, and boxes of what is written are as wide as a tile in any format. */
    private long[] map(Tensor tensor, int rows, int panels) {
        int wide = Math.max(1, panels * tensor.numberBytes() / 2);
        return kernels.device.map(pointer(tensor), tensor.rows(), steps(tensor), rows, wide);
    }
}
