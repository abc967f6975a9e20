package hypertransfer.engine.cpu.product;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;

/**
 * OpenBLAS and its LAPACK, called straight from our own threads with addresses, each call on one core: how work is divided is decided
 * here and not by the library, or results would depend on the number of cores.
 */
public final class Blas {
    public static final boolean N = false;
    public static final boolean T = true;

    private static final int ROW_MAJOR = 101, COLUMN_MAJOR = 102, NO_TRANS = 111, TRANS = 112, LOWER = 122;

    private static final SymbolLookup LIBRARY = Natives.library();

    /** Not final: a constant handle would be inlined, and leave the compiler no room for the vectors around the call. */
    private static MethodHandle sgemm = Natives.function(LIBRARY, "cblas_sgemm", null, "iiiiiifaiaifai");

    private static final MethodHandle GEQRF = Natives.function(LIBRARY, "LAPACKE_sgeqrf_work", JAVA_INT, "iiiaiaai");
    private static final MethodHandle ORGQR = Natives.function(LIBRARY, "LAPACKE_sorgqr_work", JAVA_INT, "iiiiaiaai");
    private static MethodHandle ssyrk = Natives.function(LIBRARY, "cblas_ssyrk", null, "iiiiifaifai");

    static {
        try {
            Natives.function(LIBRARY, "openblas_set_num_threads", null, "i").invokeExact(1);
        } catch (Throwable e) {
            throw new AssertionError("openblas_set_num_threads cannot throw", e);
        }
    }

    private Blas() {}

    /** The processor that its kernels are written for, such as {@code neoversen1}: others add in another order. */
    public static String kernels() {
        try {
            long name = (long) Natives.function(LIBRARY, "openblas_get_corename", JAVA_LONG, "")
                    .invokeExact();
            return MemorySegment.ofAddress(name).reinterpret(64).getString(0);
        } catch (Throwable e) {
            throw new AssertionError("openblas_get_corename cannot throw", e);
        }
    }

    /** C (m,n) = alpha op(A) op(B) + beta C, where op(A) is (m,k), op(B) is (k,n), and ld is a matrix's row length. */
    public static void gemm(
            boolean ta,
            boolean tb,
            int m,
            int n,
            int k,
            float alpha,
            long a,
            int lda,
            long b,
            int ldb,
            float beta,
            long c,
            int ldc) {
        int left = ta ? TRANS : NO_TRANS, right = tb ? TRANS : NO_TRANS;
        try {
            sgemm.invokeExact(ROW_MAJOR, left, right, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
        } catch (Throwable e) {
            throw new AssertionError("sgemm cannot throw", e);
        }
    }

    /** The lower triangle of C (n,n) = alpha A A^T + beta C, where A is (n,k); with t, A^T A where A is (k,n). */
    public static void syrk(boolean t, int n, int k, float alpha, long a, int lda, float beta, long c, int ldc) {
        try {
            ssyrk.invokeExact(ROW_MAJOR, LOWER, t ? TRANS : NO_TRANS, n, k, alpha, a, lda, beta, c, ldc);
        } catch (Throwable e) {
            throw new AssertionError("ssyrk cannot throw", e);
        }
    }

    /**
     * Makes the columns of a matrix orthonormal, each against those before it: the Q of QR. Columns lie one after the other.
     *
     * @param factors room for n numbers
     * @param work room for {@code size} numbers, at least n
     */
    public static void orthonormalize(int n, long a, long factors, long work, int size) {
        int info;
        try {
            info = (int) GEQRF.invokeExact(COLUMN_MAJOR, n, n, a, n, factors, work, size);
            if (info == 0) {
                info = (int) ORGQR.invokeExact(COLUMN_MAJOR, n, n, n, a, n, factors, work, size);
            }
        } catch (Throwable e) {
            throw new AssertionError("sgeqrf and sorgqr cannot throw", e);
        }
        if (info != 0) {
            throw new AssertionError("sgeqrf or sorgqr refused argument " + -info);
        }
    }
}
