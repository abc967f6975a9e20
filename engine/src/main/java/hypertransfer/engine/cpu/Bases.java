package hypertransfer.engine.cpu;

import static hypertransfer.engine.cpu.memory.Floats.at;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.cpu.memory.Floats;
import hypertransfer.engine.cpu.memory.Storage;
import hypertransfer.engine.cpu.product.Blas;
import hypertransfer.engine.cpu.vector.Lanes;

/**
 * Gram matrices, and the bases that turn towards their eigenvectors.
 *
 * @param scratch (workers, 2 STRIP + 1, the longest side): a strip, LAPACK's own, its factors
 */
record Bases(NewtonSchulz room, Floats scratch) {
    /** Rows that are multiplied at a time, and the width of LAPACK's storage. */
    private static final int STRIP = 64;

    Bases(Pool pool, Dims dims, Storage storage, NewtonSchulz room) {
        this(room, storage.declare(Role.SCRATCH, "bases", pool.size() * (2 * STRIP + 1), dims.longest()));
    }

    /** P = beta P + (1 - beta) scale^2 x x^T; with cols x^T x. */
    static void gram(boolean cols, Tensor x, double scale, double beta, Tensor p) {
        int n = p.rows(), other = (int) (x.size() / n);
        if (n > 1) {
            float fresh = (float) ((1 - beta) * scale * scale);
            Blas.syrk(cols, n, other, fresh, at(x), x.cols(), (float) beta, at(p), n);
            NewtonSchulz.mirror(at(p), n);
        }
    }

    void rotate(Tensor x, Tensor left, Tensor right, boolean back, int worker) {
        int rows = x.rows(), cols = x.cols();
        long home = at(x), free = room.scratch(worker), from = home;
        if (left.size() > 1) {
            Blas.gemm(back, Blas.N, rows, cols, rows, 1, at(left), rows, from, cols, 0, free, cols);
            from = free;
        }
        if (right.size() > 1) {
            long to = from == home ? free : home;
            Blas.gemm(Blas.N, !back, rows, cols, cols, 1, from, cols, at(right), cols, 0, to, cols);
            from = to;
        }
        if (from == free) {
            Lanes.copy(free, home, 4L * rows * cols);
        }
    }

    /** Row after row here is column after column there, so that LAPACK finds the vectors where it wants them. */
    void refine(Tensor symmetric, float shift, Tensor vectors, int worker) {
        int n = symmetric.rows();
        if (n == 1) {
            return;
        }
        long gram = at(symmetric), basis = at(vectors);
        long longest = scratch.cols(), strip = scratch.at() + 4L * worker * (2 * STRIP + 1) * longest;
        long own = strip + 4L * STRIP * longest, factors = own + 4L * STRIP * longest;
        for (int i = 0; i < n; i += STRIP) {
            int rows = Math.min(STRIP, n - i);
            long some = basis + 4L * i * n;
            Lanes.copy(some, strip, 4L * rows * n);
            Blas.gemm(Blas.N, Blas.N, rows, n, n, 1, strip, n, gram, n, shift, some, n);
        }
        Blas.orthonormalize(n, basis, factors, own, STRIP * n);
    }
}
