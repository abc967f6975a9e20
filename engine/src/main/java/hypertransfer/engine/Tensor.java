package hypertransfer.engine;

/**
 * A matrix of numbers held by an engine, row after row. It is a handle: only the engine that made it can write it and
 * read it back.
 */
public interface Tensor {
    String name();

    int rows();

    int cols();

    /** The bytes of one number. */
    int numberBytes();

    default long size() {
        return (long) rows() * cols();
    }

    /** Of all its numbers. */
    default long bytes() {
        return size() * numberBytes();
    }
}
