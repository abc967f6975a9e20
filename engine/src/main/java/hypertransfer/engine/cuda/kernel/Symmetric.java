package hypertransfer.engine.cuda.kernel;

import java.util.stream.Stream;

/** Newton-Schulz's symmetric products in bfloat16, of which only one half is computed, see {@code symmetric.cu}. */
public record Symmetric(Kernels kernels) {
    private static final int PANEL = Fused.PANEL, LEAST_SIDE = 2 * PANEL;

    /** Whether the card runs it; the arguments are those of {@link Fused#fits}. */
    static boolean runs(int target, int shared) {
        return target == Fused.CAPABILITY && shared >= Fused.BYTES;
    }

    /** Whether matrices of this shape fit: whole panels of columns and rows, and at least two steps. */
    public static boolean fits(int rows, int cols) {
        return rows % PANEL == 0 && cols % PANEL == 0 && Math.min(rows, cols) >= LEAST_SIDE;
    }

    /** a = x x^T, or x^T x where x is tall, of so many matrices that follow each other without gaps. */
    public void gram(int rows, int cols, int count, long x, long a) {
        boolean tall = rows > cols;
        int side = Math.min(rows, cols), length = Math.max(rows, cols);
        long all = (long) count * rows;
        Stream<long[]> maps = Stream.of(
                kernels.device.map(x, all, cols, tall ? PANEL : Fused.ROWS, tall ? Fused.ROWS / PANEL : 1),
                kernels.device.map(x, all, cols, tall ? PANEL : Fused.COLUMNS, tall ? Fused.PANELS : 1),
                kernels.device.map(a, (long) count * side, side, PANEL, 1));
        kernels.queue(
                tall ? Kernel.GRAM_TALL : Kernel.GRAM, Fused.launch(kernels), maps, Kernels.words(side, length, count));
    }

    /** b = by a a + keep a, where a is symmetric. */
    public void square(int side, int count, double by, long a, double keep, long b) {
        long all = (long) count * side;
        Stream<long[]> maps = Stream.of(
                kernels.device.map(a, all, side, Fused.ROWS, 1),
                kernels.device.map(a, all, side, Fused.COLUMNS, 1),
                kernels.device.map(b, all, side, PANEL, 1),
                kernels.device.map(a, all, side, PANEL, Fused.PANELS));
        kernels.queue(Kernel.SQUARE, Fused.launch(kernels), maps, Kernels.words(side, count, by, keep));
    }
}
