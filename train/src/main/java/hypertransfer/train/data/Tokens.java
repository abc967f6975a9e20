package hypertransfer.train.data;

/** A run of token ids that can be read at any place: a file on disk, or an array in memory. */
public sealed interface Tokens extends AutoCloseable permits Shard, Tokens.Bytes {
    /** What to call it in a message. */
    String name();

    long count();

    /** Copies the ids from..from+count-1 to into[at..]. The caller keeps within {@link #count()}. */
    void read(long from, int[] into, int at, int count);

    @Override
    default void close() {}

    /** Bytes in memory, each a token id of its own. */
    record Bytes(String name, byte[] bytes) implements Tokens {
        @Override
        public long count() {
            return bytes.length;
        }

        @Override
        public void read(long from, int[] into, int at, int count) {
            for (int i = 0; i < count; i++) {
                into[at + i] = bytes[(int) from + i] & 0xff;
            }
        }
    }
}
