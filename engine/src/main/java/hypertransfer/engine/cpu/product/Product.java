package hypertransfer.engine.cpu.product;

import hypertransfer.engine.cpu.thread.Pool;

/** C (m,n) = op(A) op(B) + beta C, see {@link Blas#gemm}, cut into tiles of C. The tiles follow only from the sizes. */
public record Product(
        boolean ta, boolean tb, int m, int n, int k, long a, int lda, long b, int ldb, float beta, long c, int ldc) {
    /** Enough tiles for the cores of a desktop, where each is still worth a call. */
    private static final int TILES = 16;

    /** Narrower tiles cost more packing than arithmetic hides, so they are cut for a few cores only. */
    private static final int NARROW = 128, NARROW_TILES = 4, NARROWEST = 64;

    private static final long SMALLEST = 1L << 21;
    private static final long LARGEST = 1L << 27;

    public void run(Pool pool) {
        int rows = m, cols = n;
        while (divisible(rows, cols)) {
            if (rows >= cols) {
                rows = half(rows);
            } else {
                cols = half(cols);
            }
        }
        int height = rows, width = cols, across = tiles(n, cols);
        pool.run(
                (piece, worker) -> tile(piece / across * height, piece % across * width, height, width),
                across * tiles(m, rows));
    }

    private boolean divisible(int rows, int cols) {
        long work = (long) rows * cols * k;
        int side = half(Math.max(rows, cols)), tiles = tiles(m, rows) * tiles(n, cols);
        int wanted = side >= NARROW ? TILES : side >= NARROWEST ? NARROW_TILES : 0;
        return work > LARGEST && wanted > 0 || work > SMALLEST && tiles < wanted;
    }

    /** A multiple of 16, which is what the inner kernels like. */
    private static int half(int side) {
        return ((side + 1) / 2 + 15) / 16 * 16;
    }

    private static int tiles(int side, int tile) {
        return (side + tile - 1) / tile;
    }

    private void tile(int i, int j, int rows, int cols) {
        long from = a + 4L * (ta ? i : (long) i * lda), with = b + 4L * (tb ? (long) j * ldb : j);
        long to = c + 4L * ((long) i * ldc + j);
        Blas.gemm(ta, tb, Math.min(rows, m - i), Math.min(cols, n - j), k, 1, from, lda, with, ldb, beta, to, ldc);
    }
}
