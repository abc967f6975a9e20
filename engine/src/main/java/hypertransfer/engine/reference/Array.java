package hypertransfer.engine.reference;

import hypertransfer.engine.Fp8.Grid;
import hypertransfer.engine.Tensor;
import java.util.Arrays;

/**
 * A tensor of doubles: all of some numbers that are allocated when the engine commits, or some rows of them.
 *
 * @param offset where it starts among them
 * @param grid what its numbers are rounded to; null where they are not
 */
record Array(String name, int rows, int cols, Numbers numbers, int offset, Grid grid) implements Tensor {
    static final class Numbers {
        private double[] data;
    }

    Array(String name, int rows, int cols, Grid grid) {
        this(name, rows, cols, new Numbers(), 0, grid);
    }

    /** Rounds what was written, if it has a grid. */
    void settle() {
        for (int i = row(0); grid != null && i < row(rows); i++) {
            data()[i] = grid.nearest(data()[i]);
        }
    }

    /** A copy on a grid. */
    Array on(Grid grid) {
        Array copy = new Array(name, rows, cols, grid).allocate();
        copy.write(read());
        return copy;
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
        return new Array(sliceName, count, cols, numbers, row(from), grid);
    }

    double[] read() {
        return Arrays.copyOfRange(data(), row(0), row(rows));
    }

    void write(double[] values) {
        System.arraycopy(values, 0, data(), row(0), values.length);
        settle();
    }
}
