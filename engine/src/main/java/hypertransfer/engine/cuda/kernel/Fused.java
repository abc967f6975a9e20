package hypertransfer.engine.cuda.kernel;

import static hypertransfer.engine.cuda.kernel.DeviceTensor.pointer;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Layers.HeadRule;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.cuda.driver.Device;
import hypertransfer.engine.cuda.driver.Launch;
import java.util.Arrays;
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

    /** Of tiles of eight bits; all sides are multiples of it. */
    static final int EIGHT_SIDE = 128;

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

    /** What keeps these sizes from products of eight bits; empty where nothing does. The arguments are those of {@link #fits}. */
    static String missingEight(Dims dims, int target, int shared) {
        boolean whole = dims.N() % EIGHT_SIDE == 0
                && dims.C() % EIGHT_SIDE == 0
                && dims.F() % EIGHT_SIDE == 0
                && dims.V() % EIGHT_SIDE == 0
                && dims.C() >= 2 * EIGHT_SIDE;
        return target != CAPABILITY
                ? "fp8 needs a card of compute capability 9.0, such as an H100 or H200; set model.precision to auto"
                : !fits(dims, Precision.BF16, target, shared) || !whole
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
        boolean norm = rule.normQK(), turn = rule.rotary(), normV = rule.normV();
        Stream<long[]> maps = Stream.of(map(x, ROWS, 1), map(w, COLUMNS, 1), map(qkv, PANEL, PANELS));
        queue(
                Kernel.PRODUCT_HEADS,
                Kernel.PRODUCT_HEADS_8,
                maps,
                x,
                by,
                qkv.cols(),
                steps(x),
                r,
                turns,
                norm,
                turn,
                normV);
    }

    /** s = relu(x w^T)^2; of eight bits relu(by x w^T)^2. */
    public void reluSquared(Tensor x, Tensor w, Tensor s, double by) {
        Stream<long[]> maps = Stream.of(map(x, ROWS, 1), map(w, COLUMNS, 1), map(s, PANEL, PANELS));
        queue(Kernel.PRODUCT_RELU_SQUARED, Kernel.PRODUCT_RELU_SQUARED_8, maps, x, by, dims.F(), steps(x));
    }

    /** df = dy w times the slope of relu squared where it is s. */
    public void slope(Tensor dy, Tensor w, Tensor s, Tensor df) {
        kernels.queue(
                Kernel.PRODUCT_SLOPE,
                launch(device),
                Stream.of(map(dy, ROWS, 1), map(w, PANEL, PANELS), map(df, PANEL, PANELS), map(s, PANEL, PANELS)),
                Kernels.words(dims.N(), dims.F(), dims.C()));
    }

    /** df = by sqrt(s) dy w, of eight bits, where w is given transposed. */
    public void slope(Tensor dy, Tensor turned, Tensor s, Tensor df, double by) {
        kernels.queue(
                Kernel.PRODUCT_SLOPE_8,
                launch(device),
                Stream.of(map(dy, ROWS, 1), map(turned, COLUMNS, 1), map(df, PANEL, PANELS), map(s, PANEL, PANELS)),
                Kernels.words(dims.N(), dims.F(), steps(dy), by));
    }

    /** e = 2^(x w^T log2(e) - top - HEADROOM), of so many rows from an address on, and the sums of its tiles' rows. */
    public void powers(long x, int rows, Tensor w, long e, long top, long sums, double by) {
        long[] from = device.map(x, rows, steps(w), ROWS, 1), to = device.map(e, rows, dims.V(), PANEL, PANELS);
        Object[] words = {rows, dims.V(), steps(w), top, sums, by};
        boolean eight = DeviceTensor.eight(w);
        kernels.queue(
                eight ? Kernel.PRODUCT_POWERS_8 : Kernel.PRODUCT_POWERS,
                launch(device),
                Stream.of(from, map(w, COLUMNS, 1), to),
                Kernels.words(Arrays.copyOf(words, eight ? 6 : 5)));
    }

    /** One kernel, or the other with one word more where x has eight bits. */
    private void queue(Kernel kernel, Kernel eight, Stream<long[]> maps, Tensor x, double by, Object... words) {
        Stream<Object> all = Stream.concat(Stream.of(dims.N()), Stream.of(words));
        if (DeviceTensor.eight(x)) {
            kernels.queue(
                    eight,
                    launch(device),
                    maps,
                    Kernels.words(Stream.concat(all, Stream.of(by)).toArray()));
        } else {
            kernels.queue(kernel, launch(device), maps, Kernels.words(all.toArray()));
        }
    }

    /** Of a row, in pairs of bytes. */
    private static int steps(Tensor x) {
        return x.cols() * x.numberBytes() / 2;
    }

    /** A panel is 128 bytes of a row, and boxes of what is written are as wide as a tile in any format. */
    private long[] map(Tensor tensor, int rows, int panels) {
        int wide = Math.max(1, panels * tensor.numberBytes() / 2);
        return device.map(pointer(tensor), tensor.rows(), steps(tensor), rows, wide);
    }
}
