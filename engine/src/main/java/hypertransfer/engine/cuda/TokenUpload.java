package hypertransfer.engine.cuda;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import hypertransfer.engine.cuda.driver.Device;
import java.lang.foreign.MemorySegment;
import java.util.stream.IntStream;

/**
 * The micro-batch on its way to the card: inputs, targets, and the inputs' positions sorted, so that the embedding's
 * gradient adds in a fixed order. A few buffers are used in rotation, so that the host runs ahead of the card.
 */
final class TokenUpload {
    private static final int BUFFERS = 4;

    private final Device device;
    private final int count;
    private final int vocabulary;
    private final long to;
    private final MemorySegment[] hosts = new MemorySegment[BUFFERS];
    private final long[] copied = new long[BUFFERS];
    private int buffer;
    private int distinct;

    TokenUpload(Device device, int count, int vocabulary, long to) {
        this.device = device;
        this.count = count;
        this.vocabulary = vocabulary;
        this.to = to;
        for (int i = 0; i < BUFFERS; i++) {
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
        buffer = (buffer + 1) % BUFFERS;
        device.await(copied[buffer]);
        MemorySegment host = hosts[buffer];
        Sorted sorted = Sorted.of(inputs, vocabulary);
        distinct = sorted.starts.length - 1;
        MemorySegment.copy(inputs, 0, host, JAVA_INT, 0, count);
        MemorySegment.copy(targets, 0, host, JAVA_INT, 4L * count, count);
        MemorySegment.copy(sorted.order, 0, host, JAVA_INT, 8L * count, count);
        MemorySegment.copy(sorted.starts, 0, host, JAVA_INT, 12L * count, sorted.starts.length);
        device.upload(host, to);
        device.record(copied[buffer]);
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
            for (int v = 1; v <= vocabulary; v++) {
                next[v] += next[v - 1];
            }
            int[] starts = IntStream.rangeClosed(0, vocabulary)
                    .filter(v -> v == vocabulary || next[v + 1] > next[v])
                    .map(v -> next[v])
                    .toArray();
            int[] order = new int[tokens.length];
            for (int n = 0; n < tokens.length; n++) {
                order[next[tokens[n]]++] = n;
            }
            return new Sorted(order, starts);
        }
    }
}
