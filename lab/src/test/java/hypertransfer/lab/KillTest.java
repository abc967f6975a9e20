package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.lab.Workshop.Command;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/**
 * Every command that writes, ended at any moment: what it has made is whole or not there, and the same command, given
 * again, ends with the files of an undisturbed one.
 */
@EnabledOnOs({OS.LINUX, OS.MAC})
class KillTest {
    /** The exit codes that a signal may lead to; 0 where it came too late. */
    private static final Map<String, List<Integer>> SIGNALS = Map.of(
            "KILL", List.of(0, 137), "INT", List.of(0, 130), "TERM", List.of(0, 130, 143), "HUP", List.of(0, 130, 129));

    private final Map<Command, Long> longest = new HashMap<>();

    /** Inside this process: it ends before one of its operations on files, or within a write. */
    @Test
    void everyCommandSurvivesItsEndAtAnyOperation() throws Throwable {
        Workshop shop = Workshop.shared();
        Cases cases = new Cases("KillTest at an operation");
        Map<Command, Long> operations = new HashMap<>();
        cases.run(70, (number, random) -> {
            Command command = shop.anyWriting(random);
            if (!operations.containsKey(command)) {
                shop.expected(command);
                Disk.reset();
                assertThat(shop.ht.run(command.args())).as(shop.ht::err).isBetween(0, 1);
                operations.put(command, Disk.reset());
                shop.tidy(command);
            }
            if (operations.get(command) == 0) {
                return; // all of its work is done
            }
            long after = random.nextLong(operations.get(command));
            Disk.halts(after);
            int exit = shop.ht.run(command.args());
            Disk.reset();
            cases.count(command.name() + " " + exit);
            String about = "case " + number + ", " + command.name() + " after " + after + " of "
                    + operations.get(command) + " operations";
            if (exit != -1) {
                cases.wrong(about + ": survived with exit " + exit + ", " + shop.ht.err());
            }
            after(shop, command, true, cases, about);
        });
    }

    /** As a process that gets a signal at a random moment. */
    @Test
    void everyCommandSurvivesASignal() throws Throwable {
        Workshop shop = Workshop.shared();
        Cases cases = new Cases("KillTest with signals");
        List<Command> commands = shop.writing();
        cases.run(4, (number, random) -> {
            Command command = commands.get(random.nextInt(commands.size()));
            String signal = random.nextBoolean()
                    ? "KILL"
                    : List.of("INT", "TERM", "HUP").get(random.nextInt(3));
            long all = longest.getOrDefault(command, 1500L);
            long wait = random.nextLong(all / 4, all);
            String about = "case " + number + ", " + command.name() + ", " + signal + " after " + wait + " ms";
            shop.expected(command);
            signalled(command, signal, wait, cases, about);
            after(shop, command, signal.equals("KILL"), cases, about);
        });
    }

    private void signalled(Command command, String signal, long wait, Cases cases, String about) throws Exception {
        long begun = System.nanoTime();
        try (Child child = Child.start(command.args())) {
            boolean early = child.endsWithin(wait);
            if (!early) {
                child.signal(signal);
            }
            int exit = child.end();
            long taken = (System.nanoTime() - begun) / 1_000_000;
            longest.merge(command, early ? taken : Math.max(taken, wait * 5 / 4), (a, b) -> early ? b : Math.max(a, b));
            cases.count(command.name() + " " + signal + " " + exit);
            if (!SIGNALS.get(signal).contains(exit)) {
                cases.wrong(about + ": exit " + exit + ", " + String.join(" ", child.errors()));
            }
        }
    }

    private static void after(Workshop shop, Command command, boolean parts, Cases cases, String about)
            throws Exception {
        shop.left(command)
                .filter(left -> !parts || !left.endsWith(".part"))
                .forEach(left -> cases.wrong(about + ": left " + left));
        shop.again(command).ifPresent(what -> cases.wrong(about + ": " + what));
        shop.tidy(command);
    }
}
