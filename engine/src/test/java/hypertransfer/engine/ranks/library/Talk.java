package hypertransfer.engine.ranks.library;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import hypertransfer.engine.EngineException;
import hypertransfer.engine.ranks.Ranks;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** What one rank of {@link MpiTest} does: {@code talk}, or {@code sleep} at rank 1 while the others wait for it. */
final class Talk {
    private Talk() {}

    public static void main(String[] arguments) throws InterruptedException {
        Ranks ranks = Transports.open();
        ranks.limit(Duration.ofSeconds(arguments[0].equals("sleep") ? 1 : 600));
        if (arguments[0].equals("sleep") && ranks.rank() == 1) {
            Thread.sleep(600_000);
        }
        try {
            talk(ranks);
            ranks.close();
        } catch (EngineException e) {
            System.out.println(e.getMessage());
            ranks.abort(7);
        }
    }

    private static void talk(Ranks ranks) {
        int rank = ranks.rank(), size = ranks.size();
        List<MemorySegment> out = new ArrayList<>(), in = new ArrayList<>(), parts = new ArrayList<>();
        for (int peer = 0; peer < size; peer++) {
            out.add(filled(ranks, count(rank, peer), 100L * rank + peer));
            in.add(filled(ranks, count(peer, rank), -1));
            parts.add(filled(ranks, 1000 * peer, peer == rank ? rank : -1));
        }
        ranks.begin(out, in).await();
        ranks.gather(parts);
        for (int peer = 0; peer < size; peer++) {
            require(in.get(peer), count(peer, rank), peer == rank ? -1 : 100L * peer + rank);
            require(parts.get(peer), 1000 * peer, peer);
        }
        List<String> texts = ranks.texts("rank " + rank + " of " + "x".repeat(rank));
        double[] numbers = ranks.numbers(rank, 0.1).getLast();
        boolean any = ranks.any(rank == size - 1), none = ranks.any(false);
        System.out.println("rank " + rank + " of " + size + " by " + ranks.label() + ": " + texts + " " + numbers[0]
                + " " + numbers[1] + " " + any + " " + none);
    }

    /** Different for every pair, some of them empty, and some too long to be sent before they are asked for. */
    private static int count(int from, int to) {
        return (3 * from + to) % 4 * 50_000;
    }

    private static MemorySegment filled(Ranks ranks, int count, long value) {
        MemorySegment segment = ranks.buffer(8L * count);
        for (int i = 0; i < count; i++) {
            segment.setAtIndex(JAVA_LONG, i, value);
        }
        return segment;
    }

    private static void require(MemorySegment segment, int count, long value) {
        for (int i = 0; i < count; i++) {
            if (segment.getAtIndex(JAVA_LONG, i) != value) {
                throw new AssertionError(i + ": " + segment.getAtIndex(JAVA_LONG, i) + ", not " + value);
            }
        }
    }
}
