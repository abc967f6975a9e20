package hypertransfer.engine.cpu;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Format;
import hypertransfer.engine.Motion.Iteration;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.cpu.memory.Floats;
import hypertransfer.engine.cpu.memory.Storage;
import hypertransfer.engine.cpu.product.Blas;
import hypertransfer.engine.cpu.vector.Lanes;
import hypertransfer.engine.cpu.vector.Sums;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * X <- (a I + b A + c A A) X with A = X X^T, or X <- X (..) with A = X^T X where X is tall. A and A A are symmetric:
 * their lower triangles are computed and mirrored. Where X is much longer than wide a few steps are taken only on A
 * before X is multiplied. One matrix per piece, the costly ones first.
 */
final class NewtonSchulz {
    private static final int TILE = 16;
    private static final int STRIP = 64;

    /** The rounding of eigenvalues, which are at most 1, after the steps that are taken together. */
    private static final double TOLERABLE = 2e-5;

    private final Pool pool;
    private final Dims dims;
    private final int rows; // of a worker's scratch
    private final Floats scratch; // (workers, rows, C): four squares and the other X
    private Iteration iteration;

    NewtonSchulz(Pool pool, Dims dims, Storage storage) {
        this.pool = pool;
        this.dims = dims;
        rows = 4 * dims.C() + dims.longest();
        scratch = storage.declare(Role.SCRATCH, "newtonSchulz", pool.size() * rows, dims.C());
    }

    void run(List<Tensor> x, Iteration iteration) {
        this.iteration = iteration;
        int[] order = order(x);
        pool.run(x.size(), (piece, worker) -> {
            Tensor t = x.get(order[piece]);
            int m = Math.min(t.rows(), t.cols()), n = Math.max(t.rows(), t.cols());
            orthogonalize(((Floats) t).at(), m, n, t.rows() > t.cols(), scratch(worker));
        });
    }

    /** The places of matrices in a list, those of more numbers than most first. */
    int[] order(List<Tensor> matrices) {
        return IntStream.range(0, matrices.size())
                .boxed()
                .sorted(Comparator.comparing(i -> matrices.get(i).size() <= (long) dims.C() * dims.C()))
                .mapToInt(i -> i)
                .toArray();
    }

    /** Where a worker may write a hidden matrix and more. */
    long scratch(int worker) {
        return scratch.at() + 4L * rows * dims.C() * worker;
    }

    private void orthogonalize(long x, int m, int n, boolean tall, long free) {
        long size = (long) m * n;
        double norm = Math.sqrt(Sums.squares(x, size));
        if (norm == 0) {
            return;
        }
        long square = 4L * m * m, a = free, p = a + square, q = p + square, t = q + square, other = t + square;
        int steps = iteration.steps().size(), together = n >= 2 * m && !iteration.bf16() ? together() : 1;
        int groups = (steps + together - 1) / together;
        // Each group goes from one X to the other, and the last must end at home.
        long from = groups % 2 == 0 ? x : other, to = groups % 2 == 0 ? other : x;
        normalize(x, norm, from, m * n);
        round(from, m * n);
        for (int group = groups; group > 0; group--) {
            int first = Math.max(0, steps - group * together), end = steps - (group - 1) * together;
            product(tall, m, n, factor(first, end, from, m, n, tall, a, p, q, t), from, to);
            round(to, m * n);
            long swap = from;
            from = to;
            to = swap;
        }
    }

    /**
     * The product of the polynomials of a few steps, which is a polynomial of the first one's A: with
     * P = a I + b A + c A A the next A is P A P. They commute, so that all products are symmetric, and X is multiplied
     * only once.
     */
    private long factor(int first, int end, long x, int m, int n, boolean tall, long a, long p, long q, long t) {
        Blas.syrk(tall, m, n, 1, x, tall ? m : n, 0, a, m);
        round(a, m * m);
        mirror(a, m);
        polynomial(iteration.steps().get(first), a, q, m);
        for (int step = first + 1; step < end; step++) {
            long last = step == first + 1 ? q : p;
            symmetric(last, a, t, m);
            symmetric(t, last, a, m);
            polynomial(iteration.steps().get(step), a, p, m);
            symmetric(p, q, t, m);
            long swap = q;
            q = t;
            t = swap;
        }
        return q;
    }

    /**
     * How many steps {@link #factor} may take together. A small eigenvalue of A, and its rounding, grows by a^2 in each,
     * while a new X has a new A, with a rounding of its own.
     */
    private int together() {
        double a = 1;
        for (Iteration.Step step : iteration.steps()) {
            a = Math.max(a, Math.abs(step.a()));
        }
        int steps = 1;
        double rounding = Math.ulp(1f) * a * a;
        while (steps < iteration.steps().size() && rounding <= TOLERABLE) {
            steps++;
            rounding *= a * a;
        }
        return steps;
    }

    /** P = a I + b A + c A A. */
    private void polynomial(Iteration.Step step, long a, long p, int m) {
        Lanes.copy(a, p, 4L * m * m);
        Blas.syrk(false, m, m, (float) step.c(), a, m, (float) step.b(), p, m);
        round(p, m * m);
        mirror(p, m);
        for (int i = 0; i < m; i++) {
            long diagonal = p + 4L * i * (m + 1);
            Lanes.put(diagonal, Lanes.get(diagonal) + (float) step.a());
        }
    }

    /** C = A B where all three are symmetric: the lower triangle, strip by strip, and its mirror image. */
    private static void symmetric(long a, long b, long c, int m) {
        for (int i = 0; i < m; i += STRIP) {
            int rows = Math.min(STRIP, m - i);
            Blas.gemm(Blas.N, Blas.N, rows, i + rows, m, 1, a + 4L * i * m, m, b, m, 0, c + 4L * i * m, m);
        }
        mirror(c, m);
    }

    /** The other X = P X, or X P where X is tall. */
    private static void product(boolean tall, int m, int n, long p, long x, long to) {
        if (tall) {
            Blas.gemm(Blas.N, Blas.N, n, m, m, 1, x, m, p, m, 0, to, m);
        } else {
            Blas.gemm(Blas.N, Blas.N, m, n, m, 1, p, m, x, n, 0, to, n);
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
    static void mirror(long a, int m) {
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

    /** To the nearest bfloat16 where the iteration asks for it. */
    private void round(long x, int n) {
        if (!iteration.bf16()) {
            return;
        }
        for (long i = 0; i < 4L * n; i += 4) {
            Lanes.put(x + i, Format.toBf16(Lanes.get(x + i)));
        }
    }
}
