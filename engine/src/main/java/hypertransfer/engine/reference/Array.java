package hypertransfer.engine.reference;

import hypertransfer.engine.Tensor;
import java.util.Arrays;

/**
 * A tensor of doubles: the whole of a block that is allocated when the engine commits, or some of its rows.
 *
 * @param offset where it starts in the block
 */
record Array(String name, int rows, int cols, Block block, int offset) implements Tensor {
    static final class Block {
        private double[] data;
    }

    Array(String name, int rows, int cols) {
        this(name, rows, cols, new Block(), 0);
    }

    @Override
    public int numberBytes() {
        return Double.BYTES;
    }

    Array allocate() {
        block.data = new double[Math.multiplyExact(rows, cols)];
        return this;
    }

    void free() {
        block.data = null;
    }

    double[] data() {
        return block.data;
    }

    /** Where row i starts in {@link #data}. */
    int row(int i) {
        return offset + i * cols;
    }

    Array slice(String sliceName, int from, int count) {
        return new Array(sliceName, count, cols, block, row(from));
    }

    double[] read() {
        return Arrays.copyOfRange(data(), row(0), row(rows));
    }

    void write(double[] values) {
        System.arraycopy(values, 0, data(), row(0), values.length);
    }
}
