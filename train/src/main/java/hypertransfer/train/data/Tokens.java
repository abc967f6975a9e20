package hypertransfer.train.data;

/** A run of token ids that can be read at any place: a file on disk, or an array in memory. */
public sealed interface Tokens permits Shard, ByteTokens {
    /** What to call it in a message. */
    String name();

    long count();

    /** Copies the ids from..from+count-1 to into[at..]. The caller keeps within {@link #count()}. */
    void read(long from, int[] into, int at, int count);
}
