package hypertransfer.engine.cuda;

import hypertransfer.engine.Dims;
import java.util.List;
import java.util.Optional;

/**
 * Attention on the tensor cores: the file of its kernels and their launches.
 *
 * @param file {@code flash}, or {@code hopper} where its instructions are known
 * @param stages tiles in flight
 * @param queries rows of a block, forward
 * @param back keys, or queries, of a block, backward
 * @param forwardBytes shared memory, as are the other two
 */
record Flash(
        Dims dims,
        String file,
        int stages,
        int queries,
        int threads,
        int back,
        int backThreads,
        int forwardBytes,
        int keyBytes,
        int queryBytes) {
    private static final int HOPPER = 90;

    /**
     * None where the plain kernels run: the tensor cores want bfloat16 and a head that their tiles divide.
     *
     * @param target the card's own instructions, 10 major + minor; 0 where the compiler does not know them
     * @param shared bytes that a block may ask for
     */
    static Optional<Flash> of(Dims dims, Precision precision, int target, int shared) {
        if (precision != Precision.BF16 || !List.of(32, 64, 128).contains(dims.D())) {
            return Optional.empty();
        }
        return Optional.of(
                target == HOPPER && dims.D() >= 64 && hopper(dims).queryBytes <= shared
                        ? hopper(dims)
                        : flash(dims, shared >= 160 * 1024 ? 2 : 1));
    }

    static Flash flash(Dims dims, int stages) {
        int row = 2 * dims.D(), step = 64, back = 64, tiles = (2 * back + 2 * stages * step) * row;
        return new Flash(
                dims,
                "flash",
                stages,
                128,
                128,
                back,
                2 * back,
                (128 + 2 * stages * step) * row,
                tiles + stages * 2 * step * Float.BYTES,
                tiles + 2 * back * Float.BYTES);
    }

    static Flash hopper(Dims dims) {
        int row = 2 * dims.D(), rows = 128, step = 64, align = 1024;
        return new Flash(
                dims,
                "hopper",
                2,
                rows,
                256,
                rows,
                256,
                (rows + 4 * step) * row + align,
                (2 * rows + 4 * step) * row + 4 * step * Float.BYTES + align,
                (2 * rows + 8 * step) * row + align);
    }

    Launch forward() {
        return launch(queries, threads, forwardBytes);
    }

    Launch key() {
        return launch(back, backThreads, keyBytes);
    }

    Launch query() {
        return launch(back, backThreads, queryBytes);
    }

    private Launch launch(int tile, int threads, int shared) {
        return new Launch((dims.T() + tile - 1) / tile, dims.H(), dims.B(), threads, 1, shared);
    }
}
