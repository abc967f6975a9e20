package hypertransfer.lab;

import static org.assertj.core.api.Assertions.fail;

import hypertransfer.lab.Workshop.Command;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/**
 * Every command that writes, as a process that is ended by a signal at a random moment: what it has made is whole or not
 * there, and the same command, given again, ends with the files of an undisturbed one.
 *
 * <p>{@code -Dht.slow=true} continues for {@code -Dht.minutes=N}; {@code -Dht.seed=N} draws others.
 */
@EnabledOnOs({OS.LINUX, OS.MAC})
class KillTest {
    private static final int CASES = 4;
    private static final long SEED = Long.getLong("ht.seed", 17);
    /** The exit codes that a signal may lead to; 0 where it came too late. */
    private static final Map<String, List<Integer>> SIGNALS = Map.of(
            "KILL", List.of(0, 137), "INT", List.of(0, 130), "TERM", List.of(0, 130, 143), "HUP", List.of(0, 130, 129));

    private final Ht ht = new Ht();
    private final Map<String, Integer> counts = new TreeMap<>();
    private final Map<Command, Long> longest = new HashMap<>();
    private final List<String> wrong = new ArrayList<>();

    @Test
    void everyCommandSurvivesItsEnd() throws Exception {
        Workshop shop = Workshop.shared();
        List<Command> commands = shop.writing();
        long until = System.nanoTime()
                + Duration.ofMinutes(Long.getLong("ht.minutes", 10)).toNanos();
        int number = 0;
        for (; number < CASES || Boolean.getBoolean("ht.slow") && System.nanoTime() < until; number++) {
            SplittableRandom random = new SplittableRandom(SEED * 1_000_003 + number);
            Command command = commands.get(random.nextInt(commands.size()));
            String signal = random.nextBoolean()
                    ? "KILL"
                    : List.of("INT", "TERM", "HUP").get(random.nextInt(3));
            long all = longest.getOrDefault(command, 1500L);
            long wait = random.nextLong(all / 4, all);
            String about = "case " + number + ", " + command.name() + ", " + signal + " after " + wait + " ms";
            one(shop, command, signal, wait, about, shop.expected(command));
        }
        System.out.println("KillTest: seed " + SEED + ", " + number + " cases, exit codes " + counts);
        if (!wrong.isEmpty()) {
            fail("seed " + SEED + ":\n" + String.join("\n", wrong));
        }
    }

    private void wrong(String what) {
        System.out.println("seed " + SEED + ", " + what); // at once: the slow profile takes long
        wrong.add(what);
    }

    private void one(
            Workshop shop, Command command, String signal, long wait, String about, Map<String, Object> expected)
            throws Exception {
        int exit;
        String said;
        long begun = System.nanoTime();
        try (Child child = Child.start(command.args().toArray(String[]::new))) {
            boolean early = child.endsWithin(wait);
            if (!early) {
                child.signal(signal);
            }
            exit = child.end();
            long taken = (System.nanoTime() - begun) / 1_000_000;
            longest.merge(command, early ? taken : Math.max(taken, wait * 5 / 4), (a, b) -> early ? b : Math.max(a, b));
            said = String.join(" ", child.errors());
        }
        counts.merge(command.name() + " " + signal + " " + exit, 1, Integer::sum);
        if (!SIGNALS.get(signal).contains(exit)) {
            wrong(about + ": exit " + exit + ", " + said);
        }
        shop.result(command).forEach((name, content) -> {
            if (content.equals(false) && !name.endsWith(".part") || name.endsWith(".part") && !signal.equals("KILL")) {
                wrong(about + ": left " + name);
            }
        });
        int again = ht.run(command.args());
        if (again > 1 && !ht.err().contains("already")) { // it is, where the signal came after the last file
            wrong(about + ": given again: exit " + again + ", " + ht.err().strip());
        }
        Map<String, Object> result = shop.result(command);
        if (!result.equals(expected)) {
            wrong(about + ": another result: " + result + " instead of " + expected);
        }
        shop.tidy(command);
    }
}
