package hypertransfer.lab.experiment;

import hypertransfer.engine.ranks.Ranks;
import java.time.Duration;

/** How a rank that cannot continue ends all of them. */
public final class Ending {
    private static final Duration TURN = Duration.ofSeconds(2);
    private static final int LONGEST = 10;

    private Ending() {}

    /**
     * Lets every rank end with this code when this process does, after it has said why. Most failures happen at all ranks
     * alike, and one sentence is enough: each rank leaves those before it the time to say it, and is ended by the first
     * that does.
     */
    public static void all(Ranks ranks, int code) {
        if (ranks.size() == 1) {
            return;
        }
        try {
            Thread.sleep(TURN.multipliedBy(Math.min(LONGEST, ranks.rank())));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> ranks.abort(code)));
    }
}
