package hypertransfer.engine.cpu;

import hypertransfer.engine.cpu.product.Blas;

/**
 * C (m,n) = A (m,k) B (k,n) + beta C, see {@link Blas#gemm}, cut into tiles of C. The tiles follow only from the sizes.
 *
 * @param c is never flipped
 */
record Product(int m, int n, int k, Matrix a, Matrix b, float beta, Matrix c) {
    /**
     * A matrix in memory.
     *
     * @param row the length of its rows
     * @param flipped whether it lies there transposed
     */
    record Matrix(long at, int row, boolean flipped) {
        static Matrix at(long at, int row) {
            return new Matrix(at, row, false);
        }

        static Matrix flipped(long at, int row) {
            return new Matrix(at, row, true);
        }

        /** Where the number in row i and column j lies. */
        private long number(int i, int j) {
            return at + 4L * (flipped ? (long) j * row + i : (long) i * row + j);
        }
    }

    /** Enough tiles for the cores of a desktop, where each is still worth a call. */
    private static final int TILES = 16;

    /**
     * Narrower tiles cost more packing than arithmetic hides, so they are cut for a few cores only: with vectors of 512 bits
     * a gradient's tile of 128 x 128 (k = 2048) runs at half of the rate of sgemm, one of 256 x 256 at three quarters.
     */
    private static final int NARROW = 256, NARROW_TILES = 4, NARROWEST = 64;

    private static final long SMALLEST = 1L << 21;
    private static final long LARGEST = 1L << 27;

    void run(Pool pool) {
        int rows = m, cols = n;
        while (divisible(rows, cols)) {
            if (rows >= cols) {
                rows = half(rows);
            } else {
                cols = half(cols);
            }
        }
        int height = rows, width = cols, across = Math.ceilDiv(n, cols);
        pool.run(
                across * Math.ceilDiv(m, rows),
                (piece, worker) -> tile(piece / across * height, piece % across * width, height, width));
    }

    private boolean divisible(int rows, int cols) {
        long work = (long) rows * cols * k;
        int side = half(Math.max(rows, cols)), tiles = Math.ceilDiv(m, rows) * Math.ceilDiv(n, cols);
        int wanted = side >= NARROW ? TILES : side >= NARROWEST ? NARROW_TILES : 0;
        return work > LARGEST && wanted > 0 || work > SMALLEST && tiles < wanted;
    }

    /** A multiple of 16, which is what the inner kernels like. */
    private static int half(int side) {
        return ((side + 1) / 2 + 15) / 16 * 16;
    }

    private void tile(int i, int j, int rows, int cols) {
        int high = Math.min(rows, m - i), wide = Math.min(cols, n - j);
        long from = a.number(i, 0), with = b.number(0, j), to = c.number(i, j);
        Blas.gemm(a.flipped, b.flipped, high, wide, k, 1, from, a.row, with, b.row, beta, to, c.row);
    }
}
