package hypertransfer.engine.cuda;

import hypertransfer.engine.cuda.driver.Device;

/** Newton-Schulz's symmetric products in bfloat16, of which half is computed, see {@code symmetric.cu}. */
final class Symmetric {
    private static final int LEAST_SIDE = 2 * Fused.PANEL;

    private final Device device;
    private final Kernels kernels;

    Symmetric(Device device, Kernels kernels) {
        this.device = device;
        this.kernels = kernels;
    }

    /** Whether the card fits; the arguments are those of {@link Fused#fits}. */
    static boolean fits(int target, int shared) {
        return target == Fused.CAPABILITY && shared >= Fused.BYTES;
    }

    /** Whether the matrices fit: whole panels of columns and rows, and at least two steps. */
    static boolean fits(Schulz schulz) {
        return schulz.format() == Precision.BF16
                && schulz.rows() % Fused.PANEL == 0
                && schulz.cols() % Fused.PANEL == 0
                && schulz.side() >= LEAST_SIDE;
    }

    /** A from X. */
    void gram(Schulz schulz, int count, long x, long a) {
        int side = schulz.side(), length = Math.max(schulz.rows(), schulz.cols());
        long rows = (long) count * schulz.rows();
        if (schulz.tall()) {
            Fused.launch(
                    kernels,
                    Kernel.GRAM_TALL,
                    Kernels.words(side, length, count),
                    device.map(x, rows, side, Fused.PANEL, Fused.ROWS / Fused.PANEL),
                    device.map(x, rows, side, Fused.PANEL, Fused.PANELS),
                    blocks(a, count, side));
        } else {
            Fused.launch(
                    kernels,
                    Kernel.GRAM,
                    Kernels.words(side, length, count),
                    device.map(x, rows, length, Fused.ROWS, 1),
                    device.map(x, rows, length, Fused.COLUMNS, 1),
                    blocks(a, count, side));
        }
    }

    /** B = by A A + keep A. */
    void square(Schulz schulz, int count, double by, long a, double keep, long b) {
        int side = schulz.side();
        long rows = (long) count * side;
        Fused.launch(
                kernels,
                Kernel.SQUARE,
                Kernels.words(side, count, by, keep),
                device.map(a, rows, side, Fused.ROWS, 1),
                device.map(a, rows, side, Fused.COLUMNS, 1),
                blocks(b, count, side),
                device.map(a, rows, side, Fused.PANEL, Fused.PANELS));
    }

    private long[] blocks(long matrices, int count, int side) {
        return device.map(matrices, (long) count * side, side, Fused.PANEL, 1);
    }
}
