package hypertransfer.engine.cpu;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Role;
import hypertransfer.engine.cpu.Product.Matrix;
import hypertransfer.engine.cpu.memory.Floats;
import hypertransfer.engine.cpu.memory.Storage;
import hypertransfer.engine.cpu.vector.Exp;
import hypertransfer.engine.cpu.vector.Lanes;

/**
 * The head and its loss, a chunk of rows at a time. With e = exp(z - max) and sum its sum, the gradient at the logits is
 * (scale / sum) (e - sum [target]): the factor is given to the rows of x and dx, so that the logits, the largest
 * array, are read only twice.
 *
 * @param logits (rows, width) of a chunk
 * @param scaled (rows, C)
 * @param sums (rows, 1)
 */
record CrossEntropy(Pool pool, Dims dims, Floats logits, Floats scaled, Floats sums) {
    /** Logits kept at a time. */
    private static final long MOST = 1 << 24;

    CrossEntropy(Pool pool, Dims dims, Storage storage) {
        int width = (dims.V() + 31) / 32 * 32;
        int rows = Math.clamp(MOST / width / 64 * 64, Math.min(64, dims.N()), dims.N());
        Floats logits = storage.declare(Role.SCRATCH, "head.logits", rows, width);
        Floats scaled = storage.declare(Role.SCRATCH, "head.scaled", rows, dims.C());
        this(pool, dims, logits, scaled, storage.declare(Role.SCRATCH, "head.sums", rows, 1));
    }

    /** dx = 0: only the losses. */
    void run(int[] targets, long x, long w, long losses, double scale, long dx, long dw) {
        int V = dims.V(), C = dims.C(), rows = logits.rows(), width = logits.cols();
        for (int from = 0; from < dims.N(); from += rows) {
            int first = from, count = Math.min(rows, dims.N() - first);
            long row = 4L * first * C;
            Matrix z = Matrix.at(logits.at(), width), zFlipped = Matrix.flipped(logits.at(), width);
            new Product(count, V, C, Matrix.at(x + row, C), Matrix.flipped(w, C), 0, z).run(pool);
            pool.each(count, n -> softmax(n, targets[first + n], losses + 4L * (first + n), dx != 0));
            if (dx != 0) {
                scale(count, scale, x + row, scaled.at());
                new Product(count, C, V, z, Matrix.at(w, C), 0, Matrix.at(dx + row, C)).run(pool);
                new Product(V, C, count, zFlipped, Matrix.at(scaled.at(), C), 1, Matrix.at(dw, C)).run(pool);
                scale(count, scale, dx + row, dx + row);
            }
        }
    }

    private void softmax(int n, int token, long loss, boolean gradient) {
        int pairs = (dims.V() + 2 * Lanes.W - 1) / (2 * Lanes.W);
        long at = logits.at() + 4L * n * logits.cols(), target = at + 4L * token;
        Lanes.fill(-Float.MAX_VALUE, at + 4L * dims.V(), 2 * pairs * Lanes.W - dims.V());
        float max = Attention.max(at, 2 * pairs), wanted = Lanes.get(target);
        float sum = Exp.shifted(at, pairs, max);
        Lanes.put(loss, (float) (max - wanted + Math.log(sum)));
        if (gradient) {
            Lanes.put(target, Lanes.get(target) - sum);
            Lanes.put(sums.at() + 4L * n, sum);
        }
    }

    /** Gives some rows their factors. */
    private void scale(int count, double scale, long from, long to) {
        pool.each(count, n -> {
            long row = 4L * n * dims.C();
            Lanes.scale((float) (scale / Lanes.get(sums.at() + 4L * n)), from + row, to + row, dims.C());
        });
    }
}
