package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import hypertransfer.lab.Workshop.Command;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/**
 * Every command that writes, where no file can grow beyond some number of bytes: a full disk as a process sees it. It says
 * so in a sentence, with exit code 4, leaves no half of a file, and does all of its work once there is room.
 *
 * <p>{@code -Dht.slow=true} continues for {@code -Dht.minutes=N}; {@code -Dht.seed=N} draws others.
 */
@EnabledOnOs(OS.LINUX)
class NoRoomTest {
    private static final int CASES = 40;
    private static final long SEED = Long.getLong("ht.seed", 17);
    private static final String OLD = "the old page";

    private final Ht ht = new Ht();
    private final Map<String, Integer> counts = new TreeMap<>();
    private final List<String> wrong = new ArrayList<>();

    @Test
    void everyCommandSurvivesAFullDisk() throws Throwable {
        Workshop shop = Workshop.shared();
        List<Command> commands = shop.writing();
        long until = System.nanoTime()
                + Duration.ofMinutes(Long.getLong("ht.minutes", 10)).toNanos();
        int number = 0;
        for (; number < CASES || Boolean.getBoolean("ht.slow") && System.nanoTime() < until; number++) {
            SplittableRandom random = new SplittableRandom(SEED * 1_000_003 + number);
            Command command = commands.get(random.nextInt(commands.size()));
            long bytes = (long) Math.pow(2, random.nextDouble(0, 16));
            one(shop, command, bytes, "case " + number + ", " + command.name() + " within " + bytes + " bytes");
        }
        System.out.println("NoRoomTest: seed " + SEED + ", " + number + " cases, exit codes " + counts);
        if (!wrong.isEmpty()) {
            fail("seed " + SEED + ":\n" + String.join("\n", wrong));
        }
        assertThat(counts.keySet()).as("some must have met the limit").anyMatch(count -> count.endsWith(" 4"));
    }

    private void wrong(String what) {
        System.out.println("seed " + SEED + ", " + what); // at once: the slow profile takes long
        wrong.add(what);
    }

    private void one(Workshop shop, Command command, long bytes, String about) throws Throwable {
        Path page = shop.directory.resolve("made.html");
        boolean report = command.name().equals("report");
        if (report) {
            Files.writeString(page, OLD);
        }
        int exit;
        limit(bytes);
        try {
            exit = ht.run(command.args());
        } finally {
            limit(-1);
        }
        counts.merge(command.name() + " " + exit, 1, Integer::sum);
        long sentences =
                ht.err().lines().filter(line -> line.startsWith("ht: ")).count();
        if (exit > 1 && (exit != 4 || sentences != 1)) {
            wrong(about + ": exit " + exit + ", " + ht.err().strip());
        }
        if (exit > 1 && report && !Files.readString(page).equals(OLD)) {
            wrong(about + ": the old page is gone");
        }
        shop.result(command).forEach((name, content) -> {
            if (name.endsWith(".part") || content.equals(false) && !report) {
                wrong(about + ": left " + name);
            }
        });
        if (exit > 1 && ht.run(command.args()) > 1) {
            wrong(about + ": with room again: " + ht.err().strip());
        }
        Map<String, Object> result = shop.result(command);
        if (!result.equals(shop.expected(command))) {
            wrong(about + ": another result: " + result + " instead of " + shop.expected(command));
        }
        shop.tidy(command);
    }

    /** The largest size of a file that this process writes, as ulimit -f; below zero: any. */
    private static void limit(long bytes) throws Throwable {
        int fileSize = 1; // RLIMIT_FSIZE
        FunctionDescriptor type =
                FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.ADDRESS);
        Linker linker = Linker.nativeLinker();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment limits = arena.allocate(ValueLayout.JAVA_LONG, 2);
            MethodHandle get = linker.downcallHandle(linker.defaultLookup().findOrThrow("getrlimit"), type);
            MethodHandle set = linker.downcallHandle(linker.defaultLookup().findOrThrow("setrlimit"), type);
            assertThat((int) get.invokeExact(fileSize, limits)).isZero();
            limits.setAtIndex(
                    ValueLayout.JAVA_LONG, 0, bytes < 0 ? limits.getAtIndex(ValueLayout.JAVA_LONG, 1) : bytes);
            assertThat((int) set.invokeExact(fileSize, limits)).isZero();
        }
    }
}
