package hypertransfer.engine.cuda;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import hypertransfer.engine.EngineException;
import hypertransfer.engine.foreign.Native;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Calls of cuBLASLt, whose failures name the function, the status and the card. */
final class Lt implements AutoCloseable {
    private final Native library;
    private final String card;
    private final long handle;

    Lt(Native library, String card) {
        this.library = library;
        this.card = card;
        handle = create("cublasLtCreate");
    }

    String name() {
        return library.name();
    }

    long handle() {
        return handle;
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
            Object[] all = new Object[values.length + 1];
            all[0] = out;
            System.arraycopy(values, 0, all, 1, values.length);
            check(function, all);
            return out.get(JAVA_LONG, 0);
        }
    }

    /** Sets an attribute of an object, four bytes long, or eight where the value is a Long. */
    void set(String function, long object, int attribute, Number value) {
        try (Arena local = Arena.ofConfined()) {
            MemorySegment segment = local.allocate(JAVA_LONG);
            segment.set(JAVA_LONG, 0, value.longValue()); // little-endian, so that an int reads its own half
            check(function, object, attribute, segment, value instanceof Long ? 8L : 4L);
        }
    }

    @Override
    public void close() {
        check("cublasLtDestroy", handle);
    }
}
