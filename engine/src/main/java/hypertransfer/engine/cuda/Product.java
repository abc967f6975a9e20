package hypertransfer.engine.cuda;

import hypertransfer.engine.cuda.kernel.Precision;

/**
 * One shape of {@code D = alpha op(A) op(B) + beta C}, column after column as cuBLAS has it, each matrix without gaps.
 *
 * @param flipA whether A is stored (k,m) instead of (m,k)
 * @param flipB whether B is stored (n,k) instead of (k,n)
 * @param in the format of A and B
 * @param out the format of C and D
 * @param batch how many such products lie one after the other
 * @param strideA numbers from one A to the next; strideB, strideC alike
 * @param alignment bytes that every matrix's start is a multiple of
 */
record Product(
        boolean flipA,
        boolean flipB,
        int m,
        int n,
        int k,
        Precision in,
        Precision out,
        int batch,
        long strideA,
        long strideB,
        long strideC,
        int alignment) {
    static Product of(boolean flipA, boolean flipB, int m, int n, int k, Precision in, Precision out, int alignment) {
        return new Product(flipA, flipB, m, n, k, in, out, 1, 0, 0, 0, alignment);
    }

    /** The largest power of two, up to 256, that divides all these addresses. */
    static int alignment(long... addresses) {
        long bits = Scratch.ALIGNMENT;
        for (long address : addresses) {
            bits |= address;
        }
        return (int) Long.lowestOneBit(bits);
    }

    /** Multiplications and additions. */
    double operations() {
        return 2.0 * m * n * k * batch;
    }

    /** Bytes of all D. */
    long outputBytes() {
        return ((batch - 1) * strideC + (long) m * n) * out.bytes;
    }

    /** Whether it is one of a number of products that varies, with the number of ranks for one. */
    boolean batched() {
        return strideC > 0;
    }

    /**
     * A name without spaces, for the file of plans. It leaves out how many products a batch has: they all take the same
     * algorithm, so that a matrix's bits do not depend on how many others are orthogonalised beside it.
     */
    String key() {
        return String.join(
                "-",
                (flipA ? "t" : "n") + (flipB ? "t" : "n"),
                m + "x" + n + "x" + k,
                in + ">" + out,
                (batched() ? "batch" : "1") + ":" + strideA + ":" + strideB + ":" + strideC,
                "a" + alignment);
    }
}
