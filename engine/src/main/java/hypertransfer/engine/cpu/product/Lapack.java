package hypertransfer.engine.cpu.product;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;

/** OpenBLAS's LAPACK, called as {@link Blas} is. */
public final class Lapack {
    private static final int COLUMN_MAJOR = 102;

    private static final SymbolLookup LIBRARY = Natives.library();
    private static final MethodHandle GEQRF = Natives.function(LIBRARY, "LAPACKE_sgeqrf_work", JAVA_INT, "iiiaiaai");
    private static final MethodHandle ORGQR = Natives.function(LIBRARY, "LAPACKE_sorgqr_work", JAVA_INT, "iiiiaiaai");

    private Lapack() {}

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
