package hypertransfer.engine.foreign;

/**
 * The functions of one shared library. Handles, and pointers that only the card understands, are passed as {@code long},
 * host memory as {@link java.lang.foreign.MemorySegment}.
 */
public interface Native {
    /** What errors call the library. */
    String name();

    /** What the function returns, read as an int: a status, or the lower half of a number such as a version. */
    int call(String function, Object... arguments);
}
