package hypertransfer.engine.cpu;

import hypertransfer.engine.Dims;
import hypertransfer.engine.EngineException;
import hypertransfer.engine.Polynomial;
import hypertransfer.engine.Tensor;
import java.util.List;

/**
 * X <- (a I + b A + c A A) X with A = X X^T, or X <- X (..) with A = X^T X where X is tall. A and A A are symmetric:
 * their lower triangles are computed and mirrored. A matrix a piece, the costly ones first.
 */
final class NewtonSchulz implements Task {
    private static final int TILE = 16;

    private final Pool pool;
    private final Dims dims;
    private final long scratch; // (workers, C C + C C + 4 C C): A, the polynomial, the other X
    private List<Tensor> x;
    private Polynomial polynomial;
    private int[] order = {};

    NewtonSchulz(Pool pool, Dims dims, long scratch) {
        this.pool = pool;
        this.dims = dims;
        this.scratch = scratch;
    }

    static long scratch(Dims dims, int workers) {
        return 6L * dims.C() * dims.C() * workers;
    }

    void run(List<Tensor> x, Polynomial polynomial) {
        for (int i = 0; i < x.size(); i++) {
            Tensor t = x.get(i);
            if (Math.min(t.rows(), t.cols()) > dims.C() || t.size() > 4L * dims.C() * dims.C()) {
                throw new EngineException(t.name() + " (" + t.rows() + "," + t.cols()
                        + ") is larger than the network's hidden matrices, (" + dims.C() + "," + 4 * dims.C()
                        + "); give it another direction than Muon's");
            }
        }
        this.x = x;
        this.polynomial = polynomial;
        if (order.length < x.size()) {
            order = new int[x.size()];
        }
        int at = 0;
        for (int pass = 0; pass < 2; pass++) {
            for (int i = 0; i < x.size(); i++) {
                if (x.get(i).size() > (long) dims.C() * dims.C() == (pass == 0)) {
                    order[at++] = i;
                }
            }
        }
        pool.run(this, x.size());
    }

    @Override
    public void piece(int piece, int worker) {
        Tensor t = x.get(order[piece]);
        int m = Math.min(t.rows(), t.cols()), n = Math.max(t.rows(), t.cols());
        orthogonalize(((Floats) t).at(), m, n, t.rows() > t.cols(), scratch + 24L * dims.C() * dims.C() * worker);
    }

    private void orthogonalize(long x, int m, int n, boolean tall, long free) {
        double norm = Math.sqrt(Sums.squares(x, (long) m * n));
        if (norm == 0) {
            return;
        }
        long a = free, p = a + 4L * m * m, other = p + 4L * m * m;
        int steps = polynomial.terms().size(), size = m * n;
        // Each step goes from one X to the other; the last must end at home.
        long from = steps % 2 == 0 ? x : other, to = from == x ? other : x;
        normalize(x, norm, from, size);
        if (polynomial.bf16()) {
            round(from, size);
        }
        int row = tall ? m : n;
        for (int step = 0; step < steps; step++) {
            Polynomial.Term term = polynomial.terms().get(step);
            Blas.syrk(tall, m, n, 1, from, row, 0, a, m);
            if (polynomial.bf16()) {
                round(a, m * m);
            }
            mirror(a, m);
            Lanes.copy(a, p, 4L * m * m);
            Blas.syrk(false, m, m, (float) term.c(), a, m, (float) term.b(), p, m);
            if (polynomial.bf16()) {
                round(p, m * m);
            }
            mirror(p, m);
            for (int i = 0; i < m; i++) {
                long diagonal = p + 4L * i * (m + 1);
                Lanes.put(diagonal, Lanes.get(diagonal) + (float) term.a());
            }
            if (tall) {
                Blas.gemm(Blas.N, Blas.N, n, m, m, 1, from, m, p, m, 0, to, m);
            } else {
                Blas.gemm(Blas.N, Blas.N, m, n, m, 1, p, m, from, n, 0, to, n);
            }
            if (polynomial.bf16()) {
                round(to, size);
            }
            long swap = from;
            from = to;
            to = swap;
        }
    }

    private static void normalize(long x, double norm, long to, int n) {
        if (norm > 1e-30 && norm < 1e30) {
            Lanes.scale((float) (1 / norm), x, to, n);
        } else {
            for (long i = 0; i < 4L * n; i += 4) { // the factor itself is no float
                Lanes.put(to + i, (float) (Lanes.get(x + i) / norm));
            }
        }
    }

    /** The upper triangle from the lower, tile by tile, so that neither side leaves the cache. */
    private static void mirror(long a, int m) {
        for (int i = 0; i < m; i += TILE) {
            for (int j = 0; j <= i; j += TILE) {
                for (int row = i; row < Math.min(m, i + TILE); row++) {
                    long from = a + 4L * row * m, to = a + 4L * row;
                    for (int col = j; col < Math.min(row, j + TILE); col++) {
                        Lanes.put(to + 4L * col * m, Lanes.get(from + 4L * col));
                    }
                }
            }
        }
    }

    /** To the nearest bfloat16, ties to even. */
    private static void round(long x, int n) {
        for (long i = 0; i < 4L * n; i += 4) {
            int bits = Float.floatToRawIntBits(Lanes.get(x + i));
            Lanes.put(x + i, Float.intBitsToFloat((bits + 0x7fff + (bits >>> 16 & 1)) & 0xffff0000));
        }
    }
}
