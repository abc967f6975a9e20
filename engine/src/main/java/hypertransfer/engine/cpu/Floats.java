package hypertransfer.engine.cpu;

import hypertransfer.engine.EngineException;
import hypertransfer.engine.Tensor;

/** A tensor of floats outside the heap: a window of its role's block, placed when the engine commits. */
final class Floats implements Tensor {
    private final String name;
    private final int rows;
    private final int cols;
    private final Floats whole;
    private final long offset;
    private long address;

    Floats(String name, int rows, int cols) {
        this(name, rows, cols, null, 0);
        if (rows <= 0 || cols <= 0) {
            throw new EngineException(
                    "tensor " + name + " is declared as (" + rows + "," + cols + "); both must be one or more");
        }
    }

    private Floats(String name, int rows, int cols, Floats whole, long offset) {
        this.name = name;
        this.rows = rows;
        this.cols = cols;
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
            throw new EngineException("tensor " + name + " is used before the engine's commit() or after its close()");
        }
        return whole.address + offset;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public int rows() {
        return rows;
    }

    @Override
    public int cols() {
        return cols;
    }

    @Override
    public Tensor slice(String sliceName, int from, int count) {
        requireRows(from, count);
        return new Floats(sliceName, count, cols, whole, offset + (long) from * cols * Float.BYTES);
    }
}
