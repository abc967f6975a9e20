package hypertransfer.engine.cuda;

import hypertransfer.engine.EngineException;
import hypertransfer.engine.Tensor;

/** A tensor on the card: a window of a role's memory, which is there once the engine commits. */
final class Block implements Tensor {
    private final String name;
    private final int rows;
    private final int cols;
    private final Precision format;
    private final Block whole;
    private final long offset; // bytes
    private long pointer;

    Block(String name, int rows, int cols, Precision format) {
        this(name, rows, cols, format, null, 0);
    }

    private Block(String name, int rows, int cols, Precision format, Block whole, long offset) {
        this.name = name;
        this.rows = rows;
        this.cols = cols;
        this.format = format;
        this.whole = whole == null ? this : whole;
        this.offset = offset;
    }

    void place(long at) {
        pointer = at;
    }

    boolean placed() {
        return pointer != 0;
    }

    long pointer() {
        if (whole.pointer == 0) {
            throw new EngineException("tensor " + name() + " is used before the engine's commit()");
        }
        return whole.pointer + offset;
    }

    @Override
    public int numberBytes() {
        return format.bytes;
    }

    Precision format() {
        return format;
    }

    long bytes() {
        return size() * format.bytes;
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

    Block slice(String sliceName, int from, int count) {
        return new Block(sliceName, count, cols(), format, whole, offset + (long) from * cols() * format.bytes);
    }
}
