package hypertransfer.engine.reference;

import hypertransfer.engine.EngineException;
import hypertransfer.engine.Matrix;
import hypertransfer.engine.Tensor;

/** A tensor of doubles: a window of a block that is allocated when the engine commits. */
final class Array extends Matrix {
    private final Array whole;
    private final int offset;
    private double[] data;

    Array(String name, int rows, int cols) {
        this(name, rows, cols, null, 0);
    }

    private Array(String name, int rows, int cols, Array whole, int offset) {
        super(name, rows, cols);
        this.whole = whole == null ? this : whole;
        this.offset = offset;
    }

    void allocate() {
        data = new double[Math.multiplyExact(rows(), cols())];
    }

    boolean allocated() {
        return whole.data != null;
    }

    double[] data() {
        if (whole.data == null) {
            throw new EngineException("tensor " + name() + " is used before the engine's commit()");
        }
        return whole.data;
    }

    /** Where row i starts in {@link #data}. */
    int row(int i) {
        return offset + i * cols();
    }

    @Override
    public Tensor slice(String sliceName, int from, int count) {
        requireRows(from, count);
        return new Array(sliceName, count, cols(), whole, row(from));
    }
}
