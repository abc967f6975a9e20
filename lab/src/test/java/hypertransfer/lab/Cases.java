package hypertransfer.lab;

import static org.assertj.core.api.Assertions.fail;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;

/**
 * Cases that are drawn by their number and a seed: a few in the build, and with {@code -Dht.slow=true} as many as fit into
 * {@code -Dht.minutes=N}. {@code -Dht.seed=N} draws others, {@code -Dht.case=N} repeats one. What goes wrong is printed
 * immediately, since the slow profile takes long.
 */
final class Cases {
    private static final long SEED = Long.getLong("ht.seed", 17);
    private static final int MOST = 20; // that are told

    private final String name;
    private final Map<String, Integer> counts = new TreeMap<>();
    private final List<String> wrong = new ArrayList<>();

    Cases(String name) {
        this.name = name;
    }

    interface Case {
        void run(int number, SplittableRandom random) throws Throwable;
    }

    /** Runs them, and fails where any went wrong. */
    void run(int few, Case each) throws Throwable {
        boolean slow = Boolean.getBoolean("ht.slow");
        long until = System.nanoTime()
                + Duration.ofMinutes(Long.getLong("ht.minutes", 10)).toNanos();
        Integer only = Integer.getInteger("ht.case");
        int number = only == null ? 0 : only, end = only == null ? few : only + 1;
        for (; (number < end || only == null && slow && System.nanoTime() < until) && wrong.size() <= MOST; number++) {
            each.run(number, new SplittableRandom(SEED * 1_000_003 + number));
        }
        System.out.println(name + ": seed " + SEED + ", " + number + " cases, exit codes " + counts);
        if (!wrong.isEmpty()) {
            fail("seed " + SEED + ":\n" + String.join("\n", wrong));
        }
    }

    void count(String what) {
        counts.merge(what, 1, Integer::sum);
    }

    Set<String> counted() {
        return counts.keySet();
    }

    void wrong(String what) {
        System.out.println("seed " + SEED + ", " + what);
        wrong.add(what);
    }
}
