package hypertransfer.engine.cpu;

import hypertransfer.engine.EngineException;
import hypertransfer.engine.Matrix;
import hypertransfer.engine.Tensor;

/** A tensor of floats outside the heap: a window of its role's block, placed when the engine commits. */
final class Floats extends Matrix {
    private final Floats whole;
    private final long offset;
    private long address;

    Floats(String name, int rows, int cols) {
        this(name, rows, cols, null, 0);
    }

    private Floats(String name, int rows, int cols, Floats whole, long offset) {
        super(name, rows, cols);
        this.whole = whole == null ? this : whole;
        this.offset = offset;
    }

    /** Gives it memory, or with 0 takes it away. */
    void place(long to) {
        address = to;
    }

    boolean placed() {
        return address != 0;
    }

    /** Where its first number lies. */
    long at() {
        if (whole.address == 0) {
            throw new EngineException(
                    "tensor " + name() + " is used before the engine's commit() or after its close()");
        }
        return whole.address + offset;
    }

    @Override
    public Tensor slice(String sliceName, int from, int count) {
        requireRows(from, count);
        return new Floats(sliceName, count, cols(), whole, offset + (long) from * cols() * Float.BYTES);
    }
}
