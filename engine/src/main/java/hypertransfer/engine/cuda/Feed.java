package hypertransfer.engine.cuda;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.MemorySegment;

/**
 * The micro-batch on its way to the card: inputs, targets, and the inputs' positions sorted, so that the embedding's
 * gradient adds in a fixed order. A few buffers take turns, so that the host runs ahead of the card.
 */
final class Feed implements AutoCloseable {
    private static final int TURNS = 4;

    private final Device device;
    private final int count;
    private final int vocabulary;
    private final long to;
    private final MemorySegment[] hosts = new MemorySegment[TURNS];
    private final long[] copied = new long[TURNS];
    private int turn;
    private int distinct;

    Feed(Device device, int count, int vocabulary, long to) {
        this.device = device;
        this.count = count;
        this.vocabulary = vocabulary;
        this.to = to;
        for (int i = 0; i < TURNS; i++) {
            hosts[i] = device.pinned(4L * (4L * count + 1));
            copied[i] = device.event();
        }
    }

    long inputs() {
        return to;
    }

    long targets() {
        return to + 4L * count;
    }

    long order() {
        return to + 8L * count;
    }

    long starts() {
        return to + 12L * count;
    }

    /** How many different inputs there are. */
    int distinct() {
        return distinct;
    }

    void send(int[] inputs, int[] targets) {
        turn = (turn + 1) % TURNS;
        device.await(copied[turn]);
        MemorySegment host = hosts[turn];
        Sorted sorted = Sorted.of(inputs, vocabulary);
        distinct = sorted.starts.length - 1;
        MemorySegment.copy(inputs, 0, host, JAVA_INT, 0, count);
        MemorySegment.copy(targets, 0, host, JAVA_INT, 4L * count, count);
        MemorySegment.copy(sorted.order, 0, host, JAVA_INT, 8L * count, count);
        MemorySegment.copy(sorted.starts, 0, host, JAVA_INT, 12L * count, sorted.starts.length);
        device.upload(host, to, host.byteSize());
        device.record(copied[turn]);
    }

    /**
     * @param order positions, by token and then by position
     * @param starts where each distinct token's positions begin, and the end
     */
    record Sorted(int[] order, int[] starts) {
        static Sorted of(int[] tokens, int vocabulary) {
            int[] next = new int[vocabulary + 1];
            for (int token : tokens) {
                next[token + 1]++;
            }
            int distinct = 0;
            for (int v = 1; v <= vocabulary; v++) {
                distinct += next[v] > 0 ? 1 : 0;
                next[v] += next[v - 1];
            }
            int[] starts = new int[distinct + 1];
            int at = 0;
            for (int v = 0; v < vocabulary; v++) {
                if (next[v + 1] > next[v]) {
                    starts[at++] = next[v];
                }
            }
            starts[at] = tokens.length;
            int[] order = new int[tokens.length];
            for (int n = 0; n < tokens.length; n++) {
                order[next[tokens[n]]++] = n;
            }
            return new Sorted(order, starts);
        }
    }

    @Override
    public void close() {
        for (int i = 0; i < TURNS; i++) {
            device.await(copied[i]);
            device.forget(copied[i]);
            device.unpin(hosts[i]);
        }
    }
}
