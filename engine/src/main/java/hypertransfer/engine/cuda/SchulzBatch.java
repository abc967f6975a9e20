package hypertransfer.engine.cuda;

import static hypertransfer.engine.cuda.kernel.DeviceTensor.pointer;

import hypertransfer.engine.EngineException;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.cuda.Product.Shape;
import hypertransfer.engine.cuda.kernel.Geometry;
import hypertransfer.engine.cuda.kernel.Precision;

/**
 * A batch of matrices of one shape in Newton-Schulz's scratch: X and its successor Y, then the square matrices A = X X^T
 * (X^T X where X is tall, so that nothing is ever transposed) and B = b A + c A A. Rows here are cuBLAS's columns.
 *
 * @param batch how many fit at a time
 */
record SchulzBatch(int rows, int cols, Precision format, int batch) {
    static SchulzBatch of(int rows, int cols, boolean bf16, long room) {
        SchulzBatch one = new SchulzBatch(rows, cols, bf16 ? Precision.BF16 : Precision.FLOAT32, 1);
        long each = 2 * one.bytes() + 2 * one.sideBytes();
        int batch = (int) Math.min(Geometry.MAX_LIST, room / each);
        if (batch == 0) {
            throw new EngineException("Newton-Schulz of a " + rows + " x " + cols + " matrix needs " + each
                    + " bytes of scratch, but " + room + " were set aside for the declared gradients");
        }
        return new SchulzBatch(rows, cols, one.format, batch);
    }

    boolean tall() {
        return rows > cols;
    }

    int side() {
        return Math.min(rows, cols);
    }

    /** Numbers from one X to the next. */
    long stride() {
        return Scratch.aligned((long) rows * cols * format.bytes) / format.bytes;
    }

    long sideStride() {
        return Scratch.aligned((long) side() * side() * format.bytes) / format.bytes;
    }

    /** Bytes of a batch of X. */
    long bytes() {
        return batch * stride() * format.bytes;
    }

    /** Bytes of a batch of A. */
    long sideBytes() {
        return batch * sideStride() * format.bytes;
    }

    /** Matrix number k of the batch that starts at {@code at}, beside the tensor that it is made from. */
    CudaMotion.Entry entry(Tensor tensor, long at, int k) {
        long own = at + k * stride() * format.bytes;
        return new CudaMotion.Entry(pointer(tensor), own, 0, tensor.size(), 0, 0, 0).narrow(format);
    }

    /** A from X and X. */
    Product gram(int count) {
        Shape shape = new Shape(!tall(), tall(), side(), side(), Math.max(rows, cols));
        return product(shape, count, stride(), stride(), sideStride());
    }

    /** B from A and A, both symmetric. */
    Product square(int count) {
        Shape shape = new Shape(false, false, side(), side(), side());
        return product(shape, count, sideStride(), sideStride(), sideStride());
    }

    /** Y from X and B, or B and X where X is tall. */
    Product apply(int count) {
        return tall()
                ? product(new Shape(false, false, cols, rows, cols), count, sideStride(), stride(), stride())
                : product(new Shape(false, false, cols, rows, rows), count, stride(), sideStride(), stride());
    }

    private Product product(Shape shape, int count, long a, long b, long c) {
        return new Product(shape, format, format, new Product.Batch(count, a, b, c), Scratch.ALIGNMENT);
    }
}
