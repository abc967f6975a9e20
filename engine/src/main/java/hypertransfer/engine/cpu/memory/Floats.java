package hypertransfer.engine.cpu.memory;

import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;

/**
 * A tensor of floats outside the heap, or of doubles where it is an exact master: a piece of its role's memory, placed
 * when the engine commits, or some of its rows.
 *
 * @param numberBytes of one number
 * @param offset where it starts in the piece, in bytes
 */
public record Floats(String name, int rows, int cols, int numberBytes, Piece piece, long offset) implements Tensor {
    public static final class Piece {
        private long address;
    }

    Floats(Role role, String name, int rows, int cols) {
        this(name, rows, cols, role == Role.EXACT_MASTER ? Double.BYTES : Float.BYTES, new Piece(), 0);
    }

    public boolean exact() {
        return numberBytes == Double.BYTES;
    }

    void place(long address) {
        piece.address = address;
    }

    /** Where its first number lies. */
    public long at() {
        return piece.address + offset;
    }

    /** The same of a tensor of the cpu engine; 0 where there is none. */
    public static long at(Tensor tensor) {
        return tensor == null ? 0 : ((Floats) tensor).at();
    }

    public Floats slice(String sliceName, int from, int count) {
        return new Floats(sliceName, count, cols, numberBytes, piece, offset + (long) from * cols * numberBytes);
    }
}
