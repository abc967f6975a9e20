package hypertransfer.engine.cuda;

import hypertransfer.engine.Dims;
import hypertransfer.engine.cuda.kernel.Blocks;
import hypertransfer.engine.cuda.kernel.Fused;
import hypertransfer.engine.cuda.kernel.Geometry;
import hypertransfer.engine.cuda.kernel.Precision;

/** What the engine needs for itself, in one piece of memory: the address of each part. */
final class Scratch {
    static final int MAX_RESULTS = 4096;
    static final int ALIGNMENT = 256;

    private static final long LOGITS_BYTES = 1L << 30;
    private static final int SCHULZ_BATCH = 12;

    /** Inputs, targets, positions sorted by input and where each input's begin: 4 N + 1 ints. */
    final long tokens;
    /** Cosines and sines of the rotary embedding, (T, D/2) pairs of floats. */
    final long rotary;
    /** Shares of a gain's gradient, (ROW_BLOCKS, C) floats. */
    final long partial;
    /** Attention's row sums, (N, H) floats. */
    final long delta;
    /** One row of logits, (1, V) floats. */
    final long row;
    /** Shares of sums, (MAX_LIST, SHARES, 3) doubles. */
    final long sums;
    /** Sums, (MAX_RESULTS, 3) doubles. */
    final long results;
    /** cuBLASLt's workspace. */
    final long blas;
    /** Newton-Schulz's matrices. */
    final long schulz;

    final long schulzBytes;
    /** The logits of a chunk of rows, (chunk, V); at other times what attention's backward pass keeps. */
    final long logits;

    /** Each target's logit and each row's top, (N) floats each, see tokens.cu. */
    final long target, top;
    /** Sums of tiles' rows of powers, (chunk, {@link Fused#sums}) floats; factors of rows, (chunk) floats. */
    final long powers, factors;
    /** Rows of the head's input times their factors, (chunk, C). */
    final long scaled;

    /** Of eight bits: a weight and its transpose, a gradient's and an operand's transposes, and the gradient at a chunk's logits. */
    final long weight, weightTurned, gradientTurned, operandTurned, dlogits;

    final int chunk;
    private final long base;
    private long end;

    /**
     * @param base where it begins; 0 to know its size first
     * @param matrix numbers in the largest hidden matrix
     * @param side the longest shorter side of all
     */
    Scratch(long base, Dims dims, Precision precision, long matrix, long side) {
        this.base = end = base;
        tokens = take(4L * (4L * dims.N() + 1));
        rotary = take(4L * dims.T() * dims.D());
        partial = take(4L * Geometry.ROW_BLOCKS * dims.C());
        delta = take(4L * dims.N() * dims.H());
        row = take(4L * dims.V());
        sums = take(24L * Geometry.MAX_LIST * Geometry.SHARES);
        results = take(24L * MAX_RESULTS);
        blas = take(Blas.WORKSPACE_BYTES);
        schulzBytes = SCHULZ_BATCH * (2 * aligned(4 * matrix) + 2 * aligned(4 * side * side));
        schulz = take(schulzBytes);
        chunk = chunk(dims, precision);
        int bytes = precision.activations().bytes;
        long QD = (long) dims.Q() * dims.D(), wide = Math.max(dims.F(), QD), own = precision.bytes == 1 ? 1 : 0;
        long kept = Math.max(Blocks.scratch(dims, precision.activations()), own * 2 * dims.N() * QD);
        logits = take(Math.max((long) chunk * dims.V() * bytes, kept));
        target = take(4L * dims.N());
        top = take(4L * dims.N());
        powers = take(4L * chunk * Fused.sums(dims));
        factors = take(4L * chunk);
        scaled = take((long) chunk * dims.C() * bytes);
        weight = take(own * Math.max(dims.V(), wide) * dims.C());
        weightTurned = take(own * Math.max(dims.V(), wide) * dims.C());
        gradientTurned = take(own * Math.max((long) chunk * dims.V(), dims.N() * wide));
        operandTurned = take(own * dims.N() * Math.max(dims.C(), dims.F()));
        dlogits = take(own * chunk * dims.V());
    }

    private long take(long bytes) {
        long start = end;
        end = aligned(start + bytes);
        return start;
    }

    long bytes() {
        return end - base;
    }

    /**
     * Rows of logits held at once: halves of the micro-batch while they are too large, then what fits. Of eight bits twice as many,
     * in whole tiles, so that the gradient of the head is added to half as often.
     */
    static int chunk(Dims dims, Precision precision) {
        long row = (long) dims.V() * precision.bytes;
        int rows = dims.N();
        while (rows * row > LOGITS_BYTES && rows % 256 == 0) {
            rows /= 2;
        }
        int least = precision.bytes == 1 ? Fused.EIGHT_SIDE : 1;
        return (int) Math.min(rows, Math.max(1, LOGITS_BYTES / row / least) * least);
    }

    static long aligned(long bytes) {
        return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
}
