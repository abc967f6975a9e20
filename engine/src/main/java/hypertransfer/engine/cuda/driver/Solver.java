package hypertransfer.engine.cuda.driver;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import hypertransfer.engine.EngineException;
import hypertransfer.engine.foreign.Native;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** QR by cuSOLVER, on the card's stream. */
public final class Solver implements AutoCloseable {
    private final Device device;
    private final Native library;
    private final long handle;

    public Solver(Device device, Native library) {
        this.device = device;
        this.library = library;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment out = arena.allocate(JAVA_LONG);
            check("cusolverDnCreate", out);
            handle = out.get(JAVA_LONG, 0);
        }
        check("cusolverDnSetStream", handle, device.stream());
    }

    /**
     * Makes the columns of a matrix orthonormal, each against those before it. Columns lie one after the other.
     *
     * @param room the card's memory for what cuSOLVER needs beside it
     */
    public void orthonormalize(int n, long a, long room, long bytes) {
        long info = room, factors = room + 256, work = factors + (4L * n + 255) / 256 * 256;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment first = arena.allocate(JAVA_INT), second = arena.allocate(JAVA_INT);
            check("cusolverDnSgeqrf_bufferSize", handle, n, n, a, n, first);
            check("cusolverDnSorgqr_bufferSize", handle, n, n, n, a, n, factors, second);
            int size = Math.max(first.get(JAVA_INT, 0), second.get(JAVA_INT, 0));
            if (work + 4L * size > room + bytes) {
                throw new EngineException("cuSOLVER needs " + 4L * size + " bytes for the QR of " + n
                        + " vectors, and has " + (room + bytes - work) + "; set matrices.largest_side below " + n);
            }
            check("cusolverDnSgeqrf", handle, n, n, a, n, factors, work, size, info);
            check("cusolverDnSorgqr", handle, n, n, n, a, n, factors, work, size, info);
        }
    }

    private void check(String function, Object... values) {
        int status = library.call(function, values);
        if (status != 0) {
            throw new EngineException(function + " of " + library.name() + " failed with status " + status + " on "
                    + device.driver().name());
        }
    }

    @Override
    public void close() {
        check("cusolverDnDestroy", handle);
    }
}
