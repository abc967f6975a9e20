package hypertransfer.engine.cuda;

import hypertransfer.engine.Dims;

/**
 * What the engine needs for itself, in one piece of memory: where each part starts and how long all of it is, in bytes.
 *
 * @param tokens inputs, targets, positions sorted by input and where each input's begin: 4 N + 1 ints
 * @param turns cosines and sines of the rotary embedding, (T, D/2) pairs
 * @param partial shares of a gain's gradient, (ROW_BLOCKS, C)
 * @param delta attention's row sums, (N, H)
 * @param row one row of logits, (1, V) floats
 * @param sums shares of sums in double, (MAX_LIST, SHARES, 3)
 * @param results sums in double, (MAX_RESULTS, 3)
 * @param blas cuBLASLt's workspace
 * @param schulz Newton-Schulz's matrices
 * @param logits the logits of a chunk of rows, (chunk, V)
 */
record Scratch(
        long tokens,
        long turns,
        long partial,
        long delta,
        long row,
        long sums,
        long results,
        long blas,
        long schulz,
        long logits,
        int chunk,
        long schulzBytes,
        long bytes) {
    /** Blocks of the kernels that walk over rows and sum columns. */
    static final int ROW_BLOCKS = 528;

    static final int MAX_RESULTS = 4096;
    static final long BLAS_BYTES = 64L << 20;
    static final int ALIGNMENT = 256;

    private static final long LOGITS_BYTES = 1L << 30;
    private static final int SCHULZ_BATCH = 12;

    /**
     * @param matrix numbers in the largest hidden matrix
     * @param side its shorter side
     */
    static Scratch of(Dims dims, Precision precision, long matrix, long side) {
        long at = 0;
        long tokens = at, turns = at = aligned(at + 4L * (4L * dims.N() + 1));
        long partial = at = aligned(at + 4L * dims.T() * dims.D());
        long delta = at = aligned(at + 4L * ROW_BLOCKS * dims.C());
        long row = at = aligned(at + 4L * dims.N() * dims.H());
        long sums = at = aligned(at + 4L * dims.V());
        long results = at = aligned(at + 24L * Kernels.MAX_LIST * Kernels.SHARES);
        long blas = at = aligned(at + 24L * MAX_RESULTS);
        long schulz = at = aligned(at + BLAS_BYTES);
        long schulzBytes = SCHULZ_BATCH * (2 * aligned(4 * matrix) + 2 * aligned(4 * side * side));
        long logits = at = aligned(at + schulzBytes);
        int chunk = chunk(dims, precision);
        at = aligned(at + (long) chunk * dims.V() * precision.bytes);
        return new Scratch(
                tokens, turns, partial, delta, row, sums, results, blas, schulz, logits, chunk, schulzBytes, at);
    }

    /** Rows of logits held at once: halves of the micro-batch while they are too large, then what fits. */
    static int chunk(Dims dims, Precision precision) {
        long row = (long) dims.V() * precision.bytes;
        int rows = dims.N();
        while (rows * row > LOGITS_BYTES && rows % 256 == 0) {
            rows /= 2;
        }
        return (int) Math.min(rows, Math.max(1, LOGITS_BYTES / row));
    }

    static long aligned(long bytes) {
        return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
}
