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

    /** Refuses a tensor of any other shape than this. */
    static void shape(Tensor t, int rows, int cols) {
        if (t.rows() != rows || t.cols() != cols) {
            throw new EngineException(
                    t.name() + " is (" + t.rows() + "," + t.cols() + ") where (" + rows + "," + cols + ") belongs");
        }
    }

    /** Refuses rows that are not all within this tensor. */
    default void requireRows(int from, int count) {
        if (from < 0 || count <= 0 || from + count > rows()) {
            throw new EngineException(
                    "rows " + from + " to " + (from + count) + " are outside the " + rows() + " rows of " + name());
        }
    }
}
