package hypertransfer.engine.cuda;

import static hypertransfer.engine.cuda.kernel.DeviceTensor.pointer;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.cuda.Product.Shape;
import hypertransfer.engine.cuda.driver.Launch;
import hypertransfer.engine.cuda.kernel.Fused;
import hypertransfer.engine.cuda.kernel.Geometry;
import hypertransfer.engine.cuda.kernel.Kernel;
import hypertransfer.engine.cuda.kernel.Kernels;
import hypertransfer.engine.cuda.kernel.Precision;

/**
 * The network's last product, and softmax on it.
 *
 * @param fused null where the card or the sizes do not fit
 */
record Head(
        Kernels kernels,
        Blas blas,
        Geometry geometry,
        Storage storage,
        Scratch scratch,
        TokenUpload tokens,
        Fused fused) {
    /** The losses, and unless dx is null scale times their gradients. Logits are held for some rows at a time. */
    void run(Tensor x, Tensor w, Tensor losses, double scale, Tensor dx, Tensor dw) {
        Dims dims = geometry.dims();
        Precision precision = geometry.precision();
        int C = dims.C(), V = dims.V();
        boolean gradient = dx != null, powers = fused != null && fused.softmax();
        if (powers) {
            long target = scratch.target, top = scratch.top;
            kernels.launch(Kernel.HEAD_TOP, geometry.lines(dims.N()), x, w, tokens.targets(), target, top, dims.N());
        }
        for (int from = 0; from < dims.N(); from += scratch.chunk) {
            int rows = Math.min(scratch.chunk, dims.N() - from);
            long row = (long) from * C * precision.bytes, logits = scratch.logits, input = pointer(x) + row;
            if (powers) {
                softmaxPowers(input, from, rows, w, losses, scale, gradient);
            } else {
                softmax(input, from, rows, w, losses, scale, gradient);
            }
            if (gradient) {
                long to = pointer(dx) + row, scaled = powers ? scratch.scaled : input;
                blas.multiply(new Shape(false, false, C, rows, V), precision, pointer(w), logits, 0, to, precision);
                Shape weights = new Shape(false, true, C, V, rows);
                blas.multiply(weights, precision, scaled, logits, 1, pointer(dw), Precision.FLOAT32);
                if (powers) {
                    kernels.launch(Kernel.HEAD_SCALE, geometry.lines(rows), to, scratch.factors, rows);
                }
            }
        }
    }

    /** The losses of some rows, and scale times the gradients at their logits. */
    private void softmax(long x, int from, int rows, Tensor w, Tensor losses, double scale, boolean gradient) {
        int held = kernels.softmaxBytes;
        Precision precision = geometry.precision();
        long targets = tokens.targets() + 4L * from, loss = pointer(losses) + 4L * from, logits = scratch.logits;
        Shape shape = new Shape(
                true, false, geometry.dims().V(), rows, geometry.dims().C());
        blas.multiply(shape, precision, pointer(w), x, 0, logits, precision);
        kernels.launch(Kernel.SOFTMAX, geometry.softmax(rows, held), logits, targets, loss, scale, gradient, held);
    }

    /** The same, except that every row of the gradients still lacks its factor; x times these factors is left in scratch. */
    private void softmaxPowers(long x, int from, int rows, Tensor w, Tensor losses, double scale, boolean gradient) {
        long at = 4L * from, target = scratch.target + at, top = scratch.top + at, token = tokens.targets() + at;
        long loss = pointer(losses) + at, sums = scratch.powers, e = scratch.logits, r = scratch.factors;
        fused.powers(x, rows, w, e, top, sums, 1);
        Launch lines = geometry.lines(rows);
        Object[] words = {sums, target, top, token, loss, scale, x, e, r, scratch.scaled, gradient, rows};
        kernels.launch(Kernel.HEAD_LOSS, lines, words);
    }

    /** Of one row. */
    double[] logits(Tensor x, int row, Tensor w) {
        long at = pointer(x) + (long) row * x.cols() * x.numberBytes();
        kernels.launch(Kernel.LOGITS, geometry.logits(), at, w, scratch.row);
        return logits(w);
    }

    /** Those that were left in scratch. */
    double[] logits(Tensor w) {
        return storage.read(scratch.row, Precision.FLOAT32, w.rows());
    }
}
