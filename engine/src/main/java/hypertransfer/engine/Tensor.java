package hypertransfer.engine;

/**
 * A matrix of numbers held by an engine, row after row. It is a handle: what is in it is known to its engine alone,
 * which wrote it and can read it back.
 */
public interface Tensor {
    String name();

    int rows();

    int cols();

    /** The rows {@code from} to {@code from + rows}, sharing this tensor's memory. */
    Tensor slice(String name, int from, int rows);

    default long size() {
        return (long) rows() * cols();
    }
}
