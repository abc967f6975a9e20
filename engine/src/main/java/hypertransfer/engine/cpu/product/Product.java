package hypertransfer.engine.cpu.product;

import hypertransfer.engine.cpu.thread.Pool;
import hypertransfer.engine.cpu.thread.Task;

/** A matrix product cut into tiles of its result. The tiles follow only from the sizes. */
public final class Product implements Task {
    /** Enough tiles for the cores of a desktop, where each is still worth a call. */
    private static final int TILES = 16;

    /** Narrower tiles cost more packing than arithmetic hides, so they are cut for a few cores only. */
    private static final int NARROW = 128, NARROW_TILES = 4, NARROWEST = 64;

    private static final long SMALLEST = 1L << 21;
    private static final long LARGEST = 1L << 27;

    private final Pool pool;
    private boolean ta, tb;
    private int m, n, k, lda, ldb, ldc, rows, cols, across;
    private float beta;
    private long a, b, c;

    public Product(Pool pool) {
        this.pool = pool;
    }

    /** C (m,n) = op(A) op(B) + beta C; see {@link Blas#gemm}. */
    public void run(
            boolean ta,
            boolean tb,
            int m,
            int n,
            int k,
            long a,
            int lda,
            long b,
            int ldb,
            float beta,
            long c,
            int ldc) {
        this.ta = ta;
        this.tb = tb;
        this.m = m;
        this.n = n;
        this.k = k;
        this.a = a;
        this.lda = lda;
        this.b = b;
        this.ldb = ldb;
        this.beta = beta;
        this.c = c;
        this.ldc = ldc;
        rows = m;
        cols = n;
        while (divisible()) {
            if (rows >= cols) {
                rows = half(rows);
            } else {
                cols = half(cols);
            }
        }
        across = tiles(n, cols);
        pool.run(this, across * tiles(m, rows));
    }

    private boolean divisible() {
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

    @Override
    public void piece(int piece, int worker) {
        int i = piece / across * rows, j = piece % across * cols;
        long from = a + 4L * (ta ? i : (long) i * lda), with = b + 4L * (tb ? (long) j * ldb : j);
        long to = c + 4L * ((long) i * ldc + j);
        Blas.gemm(ta, tb, Math.min(rows, m - i), Math.min(cols, n - j), k, 1, from, lda, with, ldb, beta, to, ldc);
    }
}
