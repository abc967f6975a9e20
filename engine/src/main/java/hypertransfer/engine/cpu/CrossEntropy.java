package hypertransfer.engine.cpu;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Role;
import hypertransfer.engine.cpu.memory.Blocks;
import hypertransfer.engine.cpu.memory.Floats;
import hypertransfer.engine.cpu.product.Blas;
import hypertransfer.engine.cpu.product.Product;
import hypertransfer.engine.cpu.thread.Chunks;
import hypertransfer.engine.cpu.thread.Pool;
import hypertransfer.engine.cpu.thread.Task;
import hypertransfer.engine.cpu.vector.Exp;
import hypertransfer.engine.cpu.vector.Lanes;

/**
 * The head and its loss, a chunk of rows at a time. With e = exp(z - max) and sum its sum, the gradient at the logits is
 * (scale / sum) (e - sum [target]): the factor is given to the rows of x and dx, so that the logits, the largest
 * array, are read only twice.
 */
final class CrossEntropy {
    /** Logits kept at a time. */
    private static final long MOST = 1 << 24;

    private final Pool pool;
    private final Dims dims;
    private final int rows;
    private final int width;
    private final Floats logits; // (rows, width)
    private final Floats scaled; // (rows, C)
    private final Floats sums; // (rows, 1)
    private final Task softmax = this::softmax;
    private final Task scaleInput = (piece, worker) -> scale(piece, true);
    private final Task scaleGradient = (piece, worker) -> scale(piece, false);
    private int[] targets;
    private int first, count;
    private double scale;
    private long x, losses, dx;

    CrossEntropy(Pool pool, Dims dims, Blocks blocks) {
        this.pool = pool;
        this.dims = dims;
        width = (dims.V() + 31) / 32 * 32;
        rows = (int) Math.clamp(MOST / width / 64 * 64, Math.min(64, dims.N()), dims.N());
        logits = blocks.declare(Role.SCRATCH, "head.logits", rows, width);
        scaled = blocks.declare(Role.SCRATCH, "head.scaled", rows, dims.C());
        sums = blocks.declare(Role.SCRATCH, "head.sums", rows, 1);
    }

    /** dx = 0: only the losses. */
    void run(int[] targets, long x, long w, long losses, double scale, long dx, long dw) {
        this.targets = targets;
        this.x = x;
        this.losses = losses;
        this.scale = scale;
        this.dx = dx;
        int V = dims.V(), C = dims.C();
        for (first = 0; first < dims.N(); first += rows) {
            count = Math.min(rows, dims.N() - first);
            long row = 4L * first * C;
            new Product(Blas.N, Blas.T, count, V, C, x + row, C, w, C, 0, logits.at(), width).run(pool);
            pool.run(softmax, Chunks.count(count));
            if (dx != 0) {
                pool.run(scaleInput, Chunks.count(count));
                new Product(Blas.N, Blas.N, count, C, V, logits.at(), width, w, C, 0, dx + row, C).run(pool);
                new Product(Blas.T, Blas.N, V, C, count, logits.at(), width, scaled.at(), C, 1, dw, C).run(pool);
                pool.run(scaleGradient, Chunks.count(count));
            }
        }
    }

    private void softmax(int piece, int worker) {
        int from = piece * Chunks.rows(count), to = Math.min(count, from + Chunks.rows(count));
        int pairs = (dims.V() + 2 * Lanes.W - 1) / (2 * Lanes.W);
        for (int n = from; n < to; n++) {
            long at = logits.at() + 4L * n * width, target = at + 4L * targets[first + n];
            Lanes.fill(-Float.MAX_VALUE, at + 4L * dims.V(), 2 * pairs * Lanes.W - dims.V());
            float max = Attention.max(at, 2 * pairs), wanted = Lanes.get(target);
            float sum = Exp.shifted(at, pairs, max);
            Lanes.put(losses + 4L * (first + n), (float) (max - wanted + Math.log(sum)));
            if (dx != 0) {
                Lanes.put(target, Lanes.get(target) - sum);
                Lanes.put(sums.at() + 4L * n, sum);
            }
        }
    }

    /** The rows of x, or in place those of dx. */
    private void scale(int piece, boolean input) {
        long rows = (input ? x : dx) + 4L * first * dims.C(), to = input ? scaled.at() : rows;
        int from = piece * Chunks.rows(count), end = Math.min(count, from + Chunks.rows(count));
        for (int n = from; n < end; n++) {
            long row = 4L * n * dims.C();
            float factor = (float) (scale / Lanes.get(sums.at() + 4L * n));
            Lanes.scale(factor, rows + row, to + row, dims.C());
        }
    }
}
