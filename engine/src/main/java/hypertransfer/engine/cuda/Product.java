package hypertransfer.engine.cuda;

import hypertransfer.engine.cuda.kernel.Precision;

/**
 * {@code D = alpha op(A) op(B) + beta C}, column after column as cuBLAS has it, each matrix without gaps.
 *
 * @param in the format of A and B; where B is E5M2, A is E4M3
 * @param out the format of C and D
 * @param batch several such products, one after the other
 * @param alignment bytes that every matrix's start is a multiple of
 */
record Product(Shape shape, Precision in, Precision out, Batch batch, int alignment) {
    /**
     * op(A) is (m,k), op(B) is (k,n).
     *
     * @param flipA whether A is stored (k,m)
     * @param flipB whether B is stored (n,k)
     */
    record Shape(boolean flipA, boolean flipB, int m, int n, int k) {}

    /**
     * @param count how many products
     * @param a numbers from one A to the next; b and c alike
     */
    record Batch(int count, long a, long b, long c) {
        static final Batch ONE = new Batch(1, 0, 0, 0);
    }

    /** One product of matrices in a format, at these addresses. */
    static Product of(Shape shape, Precision in, Precision out, long... addresses) {
        return new Product(shape, in, out, Batch.ONE, alignment(addresses));
    }

    /** The largest power of two, up to 256, that divides all these addresses. */
    static int alignment(long... addresses) {
        long bits = Scratch.ALIGNMENT;
        for (long address : addresses) {
            bits |= address;
        }
        return (int) Long.lowestOneBit(bits);
    }

    /** The format of A. */
    Precision left() {
        return in == Precision.E5M2 ? Precision.E4M3 : in;
    }

    /** Multiplications and additions. */
    double operations() {
        return 2.0 * shape.m * shape.n * shape.k * batch.count;
    }

    /** Bytes of all D. */
    long outputBytes() {
        return ((batch.count - 1) * batch.c + (long) shape.m * shape.n) * out.bytes;
    }

    /** Whether it is one of a number of products that varies, with the number of ranks for one. */
    boolean batched() {
        return batch.c > 0;
    }

    /**
     * A name without spaces, for the file of plans. It leaves out how many products a batch has: they all take the same
     * algorithm, so that a matrix's bits do not depend on how many others are orthogonalised beside it.
     */
    String key() {
        return String.join(
                "-",
                (shape.flipA ? "t" : "n") + (shape.flipB ? "t" : "n"),
                shape.m + "x" + shape.n + "x" + shape.k,
                in + ">" + out,
                (batched() ? "batch" : "1") + ":" + batch.a + ":" + batch.b + ":" + batch.c,
                "a" + alignment);
    }
}
