package hypertransfer.engine.reference;

import hypertransfer.engine.Tensor;
import java.util.Arrays;

/**
 * A tensor of doubles: all of some numbers that are allocated when the engine commits, or some rows of them.
 *
 * @param offset where it starts among them
 */
record Array(String name, int rows, int cols, Numbers numbers, int offset) implements Tensor {
    static final class Numbers {
        private double[] data;
    }

    Array(String name, int rows, int cols) {
        this(name, rows, cols, new Numbers(), 0);
    }

    @Override
    public int numberBytes() {
        return Double.BYTES;
    }

    Array allocate() {
        numbers.data = new double[Math.multiplyExact(rows, cols)];
        return this;
    }

    void free() {
        numbers.data = null;
    }

    double[] data() {
        return numbers.data;
    }

    /** Where row i starts in {@link #data}. */
    int row(int i) {
        return offset + i * cols;
    }

    Array slice(String sliceName, int from, int count) {
        return new Array(sliceName, count, cols, numbers, row(from));
    }

    double[] read() {
        return Arrays.copyOfRange(data(), row(0), row(rows));
    }

    void write(double[] values) {
        System.arraycopy(values, 0, data(), row(0), values.length);
    }
}
