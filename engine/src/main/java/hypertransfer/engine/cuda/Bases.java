package hypertransfer.engine.cuda;

import static hypertransfer.engine.cuda.kernel.DeviceTensor.pointer;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import hypertransfer.engine.EngineException;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.cuda.Product.Shape;
import hypertransfer.engine.cuda.driver.Device;
import hypertransfer.engine.cuda.kernel.DeviceTensor;
import hypertransfer.engine.cuda.kernel.Precision;
import hypertransfer.engine.foreign.Native;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.function.Supplier;

/**
 * Gram matrices, and the bases that turn towards their eigenvectors: products by cuBLASLt, QR by cuSOLVER, which is loaded
 * at first use. Row after row here is column after column there.
 */
final class Bases implements AutoCloseable {
    private final Device device;
    private final Blas blas;
    private final Scratch scratch;
    private final Supplier<Native> library;
    private CardLibrary solver; // null before its first use

    Bases(Device device, Blas blas, Scratch scratch, Supplier<Native> library) {
        this.device = device;
        this.blas = blas;
        this.scratch = scratch;
        this.library = library;
    }

    void gram(List<Tensor> g, double[] scale, double beta, List<Tensor> left, List<Tensor> right) {
        for (int k = 0; k < g.size(); k++) {
            int rows = g.get(k).rows(), cols = g.get(k).cols();
            double fresh = (1 - beta) * scale[k] * scale[k];
            long x = pointer(g.get(k)), l = pointer(left.get(k)), r = pointer(right.get(k));
            if (left.get(k).size() > 1) {
                multiply(new Shape(true, false, rows, rows, cols), fresh, x, x, beta, l, l);
            }
            if (right.get(k).size() > 1) {
                multiply(new Shape(false, true, cols, cols, rows), fresh, x, x, beta, r, r);
            }
        }
    }

    void rotate(DeviceTensor x, Tensor left, Tensor right, boolean back) {
        int rows = x.rows(), cols = x.cols();
        long home = x.pointer(), free = scratch.schulz, from = home, l = pointer(left), r = pointer(right);
        if (left.size() > 1) {
            multiply(new Shape(false, back, cols, rows, rows), 1, from, l, 0, free, free);
            from = free;
        }
        long to = from == home ? free : home;
        if (right.size() > 1) {
            multiply(new Shape(!back, false, cols, rows, cols), 1, r, from, 0, to, to);
            from = to;
        }
        if (from == free) {
            device.copy(free, home, x.bytes());
        }
    }

    void refine(List<Tensor> gram, double[] shift, List<Tensor> basis) {
        if (solver == null) {
            solver = new CardLibrary(library.get(), device.driver.name(), "cusolverDn");
            solver.check("cusolverDnSetStream", solver.handle, device.stream());
        }
        for (int k = 0; k < gram.size(); k++) {
            DeviceTensor q = (DeviceTensor) basis.get(k);
            int n = q.rows();
            if (q.bytes() > scratch.schulzBytes) {
                throw new EngineException("a basis of " + n + " vectors needs " + q.bytes() + " bytes of scratch, but "
                        + scratch.schulzBytes + " were set aside; choose another direction than soap");
            }
            if (n > 1) {
                long p = pointer(gram.get(k)), b = q.pointer(), s = scratch.schulz;
                multiply(new Shape(false, false, n, n, n), 1, p, b, shift[k], b, s);
                orthonormalize(n, s);
                device.copy(s, b, q.bytes());
            }
        }
    }

    /**
     * Makes the columns of a matrix orthonormal, each against those before it. Columns lie one after the other; cuSOLVER
     * works where cuBLASLt may at other times.
     */
    private void orthonormalize(int n, long a) {
        long handle = solver.handle, room = scratch.blas, end = room + Blas.WORKSPACE_BYTES;
        long info = room, factors = room + 256, work = factors + (4L * n + 255) / 256 * 256;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment first = arena.allocate(JAVA_INT), second = arena.allocate(JAVA_INT);
            solver.check("cusolverDnSgeqrf_bufferSize", handle, n, n, a, n, first);
            solver.check("cusolverDnSorgqr_bufferSize", handle, n, n, n, a, n, factors, second);
            int size = Math.max(first.get(JAVA_INT, 0), second.get(JAVA_INT, 0));
            if (work + 4L * size > end) {
                throw new EngineException("cuSOLVER needs " + 4L * size + " bytes for the QR of " + n
                        + " vectors, and has " + (end - work) + "; choose another direction than soap");
            }
            solver.check("cusolverDnSgeqrf", handle, n, n, a, n, factors, work, size, info);
            solver.check("cusolverDnSorgqr", handle, n, n, n, a, n, factors, work, size, info);
        }
    }

    private void multiply(Shape shape, double by, long a, long b, double keep, long c, long d) {
        blas.multiply(Product.of(shape, Precision.FLOAT32, Precision.FLOAT32, a, b, d), by, a, b, keep, c, d);
    }

    @Override
    public void close() {
        if (solver != null) {
            solver.close();
        }
    }
}
