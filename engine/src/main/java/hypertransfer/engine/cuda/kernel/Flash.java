package hypertransfer.engine.cuda.kernel;

import hypertransfer.engine.Dims;
import hypertransfer.engine.cuda.driver.Launch;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Attention on the tensor cores: the file of its kernels, their tiles and their launches.
 *
 * @param file {@code flash}, or {@code hopper} where its instructions are known
 * @param stages tiles in flight
 * @param key the backward pass for keys and values
 * @param query the backward pass for queries
 */
public record Flash(Dims dims, String file, int stages, Tile forward, Tile key, Tile query) {
    private static final int HOPPER = 90;

    /**
     * What a block of threads works on.
     *
     * @param rows queries, or keys, that it keeps
     * @param step rows of the tiles that stream by
     * @param bytes shared memory
     */
    public record Tile(Kernel kernel, int rows, int step, int threads, int bytes) {
        private String constants(String name) {
            return "constexpr int %1$s_ROWS = %2$d, %1$s_STEP = %3$d, %1$s_THREADS = %4$d, %1$s_BYTES = %5$d;\n"
                    .formatted(name, rows, step, threads, bytes);
        }
    }

    /**
     * None where the plain kernels run: the tensor cores want bfloat16 and a head that their tiles divide, and these kernels
     * know no window and no shared keys.
     *
     * @param target the card's own instructions, 10 major + minor; 0 where the compiler does not know them
     * @param shared bytes that a block may ask for
     */
    static Optional<Flash> of(Dims dims, Precision precision, int target, int shared) {
        if (precision != Precision.BF16 || !List.of(32, 64, 128).contains(dims.D()) || !dims.plainAttention()) {
            return Optional.empty();
        }
        return Optional.of(
                target == HOPPER && dims.D() >= 64 && Math.max(Blocks.BYTES, hopper(dims).query.bytes) <= shared
                        ? hopper(dims)
                        : flash(dims, shared >= 160 * 1024 ? 2 : 1));
    }

    static Flash flash(Dims dims, int stages) {
        int row = 2 * dims.D(), forward = 128, back = 64, step = 64, threads = 128;
        int tiles = (2 * back + 2 * stages * step) * row;
        return new Flash(
                dims,
                "flash",
                stages,
                new Tile(Kernel.FLASH, forward, step, threads, (forward + 2 * stages * step) * row),
                new Tile(Kernel.FLASH_KEY, back, step, threads, tiles + stages * 2 * step * Float.BYTES),
                new Tile(Kernel.FLASH_QUERY, back, step, threads, tiles + 2 * back * Float.BYTES));
    }

    static Flash hopper(Dims dims) {
        int row = 2 * dims.D(), rows = 128, step = 64, large = 128, threads = 256, stages = 2, align = 1024;
        return new Flash(
                dims,
                "hopper",
                stages,
                new Tile(Kernel.HOPPER, rows, step, threads, (rows + 2 * stages * step) * row + align),
                new Tile(
                        Kernel.HOPPER_KEY,
                        rows,
                        step,
                        threads,
                        (2 * rows + 2 * stages * step) * row + stages * 2 * step * Float.BYTES + align),
                new Tile(Kernel.HOPPER_QUERY, rows, large, threads, (2 * rows + 2 * stages * large) * row + align));
    }

    /** Whether it is the one whose backward pass does that of heads too. */
    public boolean hopper() {
        return file.equals("hopper");
    }

    /** Whether {@link Blocks} run instead of its own kernels. */
    public boolean whole() {
        return hopper() && Blocks.fits(dims);
    }

    /** What its kernels work on. */
    Stream<Tile> tiles() {
        return Stream.of(forward, key, query);
    }

    /** The files of all its kernels. */
    Stream<String> files() {
        return whole() ? Stream.of(file, "blocks") : Stream.of(file);
    }

    /** One block per tile of rows, head and sequence. */
    public Launch launch(Tile tile) {
        return new Launch((dims.T() + tile.rows - 1) / tile.rows, dims.H(), dims.B(), tile.threads, 1, tile.bytes);
    }

    /** The numbers of this record, for its file. */
    String constants() {
        return "constexpr int STAGES = " + stages + ";\n"
                + forward.constants("FORWARD")
                + key.constants("KEY")
                + query.constants("QUERY");
    }
}
