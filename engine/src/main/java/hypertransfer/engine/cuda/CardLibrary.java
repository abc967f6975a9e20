package hypertransfer.engine.cuda;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import hypertransfer.engine.EngineException;
import hypertransfer.engine.foreign.Native;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.stream.Stream;

/** Calls of one of CUDA's libraries, with a handle of it, whose failures name the function, the status and the card. */
final class CardLibrary implements AutoCloseable {
    private final Native library;
    private final String card;
    private final String prefix;
    final long handle;

    /** @param prefix of its functions' names, such as {@code cublasLt} */
    CardLibrary(Native library, String card, String prefix) {
        this.library = library;
        this.card = card;
        this.prefix = prefix;
        handle = create(prefix + "Create");
    }

    String name() {
        return library.name();
    }

    /** What the function returns. */
    int status(String function, Object... values) {
        return library.call(function, values);
    }

    void check(String function, Object... values) {
        require(function, status(function, values));
    }

    void require(String function, int status) {
        if (status != 0) {
            throw new EngineException(function + " of " + name() + " failed with status " + status + " on " + card
                    + (status == 14 || status == 13 ? ": an earlier kernel may have failed" : ""));
        }
    }

    long create(String function, Object... values) {
        try (Arena local = Arena.ofConfined()) {
            MemorySegment out = local.allocate(ValueLayout.ADDRESS);
            check(function, Stream.concat(Stream.of(out), Stream.of(values)).toArray());
            return out.get(JAVA_LONG, 0);
        }
    }

    void set(String function, long object, int attribute, Number value) {
        require(function, attempt(function, object, attribute, value));
    }

    /**
     * Sets an attribute if this release has it.
     *
     * @param value a Long, an Integer or a Short, as many bytes as the attribute has
     * @return the status
     */
    int attempt(String function, Object object, int attribute, Number value) {
        try (Arena local = Arena.ofConfined()) {
            MemorySegment segment = local.allocate(JAVA_LONG);
            segment.set(JAVA_LONG, 0, value.longValue()); // little-endian, so that an int reads its own half
            long bytes = value instanceof Long ? 8 : value instanceof Short ? 2 : 4;
            return status(function, object, attribute, segment, bytes);
        }
    }

    @Override
    public void close() {
        check(prefix + "Destroy", handle);
    }
}
