package hypertransfer.engine.cuda;

import hypertransfer.engine.Dims;

/** How many blocks and threads the kernels run on; the numbers are those that the kernels' own files compute. */
record Geometry(Dims dims, Precision precision) {
    static final int THREADS = 256;
    private static final int DELTA_LANES = 16;

    /** Numbers in one access of a row: at most 16 bytes, and a divisor of the row. */
    int vector(int cols) {
        int vector = 16 / precision.bytes;
        while (cols % vector != 0) {
            vector /= 2;
        }
        return vector;
    }

    /** Threads that hold a row: a warp, doubled while each would hold more than four chunks. */
    int lanes(int cols) {
        int chunks = cols / vector(cols), lanes = 32;
        while (lanes < 1024 && lanes * 4 < chunks) {
            lanes *= 2;
        }
        return lanes;
    }

    /** A kernel of rows.cu with a place for every row. */
    Launch rows(int rows, int cols) {
        int lanes = lanes(cols), threads = Math.max(THREADS, lanes);
        return Launch.of(((long) rows * lanes + threads - 1) / threads, threads);
    }

    /** The same on no more blocks than there are shares of a gain's gradient: each walks over some rows. */
    Launch shares(int rows, int cols) {
        Launch all = rows(rows, cols);
        return Launch.of(Math.min(Scratch.ROW_BLOCKS, all.x()), all.threads());
    }

    /** Sums over columns, 32 to a block. */
    Launch columns() {
        return new Launch((dims.C() + 31) / 32, 1, 1, 32, 8, 0);
    }

    Launch embed() {
        return Launch.each((long) dims.N() * dims.C() / vector(dims.C()), THREADS);
    }

    /** A block for each distinct token: threads for its columns, and rows of them for its positions. */
    Launch embedBackward(int distinct) {
        int vector = vector(dims.C());
        int columns = Math.min(128, (dims.C() / vector + 31) / 32 * 32), rows = 512 / columns;
        return new Launch(distinct, 1, 1, columns, rows, columns * rows * vector * Float.BYTES);
    }

    /** Threads for a head: the power of two that the chunks of its half fill, at most a warp. */
    Launch heads(long heads) {
        int chunks = dims.D() / 2 / vector(dims.D() / 2), lanes = 1;
        while (lanes < 32 && lanes < chunks) {
            lanes *= 2;
        }
        return Launch.each(heads * lanes, THREADS);
    }

    /** A warp for each row and head, four to a block. */
    Launch warps() {
        return Launch.each(32L * dims.N() * dims.H(), 128);
    }

    Launch delta() {
        return Launch.each((long) DELTA_LANES * dims.N() * dims.H(), THREADS);
    }

    /**
     * The bytes of a row of logits, if it consists of 16-byte chunks and a multiprocessor holds two rows and what their
     * blocks need besides; else 0.
     */
    int softmaxBytes(int shared) {
        long bytes = (long) dims.V() * precision.bytes;
        return vector(dims.V()) * precision.bytes == 16 && bytes <= shared / 2 - 4096 ? (int) bytes : 0;
    }
}
