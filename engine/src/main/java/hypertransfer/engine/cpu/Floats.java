package hypertransfer.engine.cpu;

import hypertransfer.engine.Tensor;

/**
 * A tensor of floats outside the heap: a piece of its role's memory, placed when the engine commits, or some of its
 * rows.
 *
 * @param offset where it starts in the piece, in bytes
 */
record Floats(String name, int rows, int cols, Piece piece, long offset) implements Tensor {
    static final class Piece {
        private long address;
    }

    Floats(String name, int rows, int cols) {
        this(name, rows, cols, new Piece(), 0);
    }

    void place(long address) {
        piece.address = address;
    }

    /** Where its first number lies. */
    long at() {
        return piece.address + offset;
    }

    Floats slice(String sliceName, int from, int count) {
        return new Floats(sliceName, count, cols, piece, offset + (long) from * cols * Float.BYTES);
    }
}
