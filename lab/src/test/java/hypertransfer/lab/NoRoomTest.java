package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.lab.Workshop.Command;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/**
 * Every command that writes, where no file can grow beyond some number of bytes: a full disk as a process sees it. It says
 * so in a sentence, with exit code 4, leaves no half of a file, and does all of its work once there is room.
 */
@EnabledOnOs(OS.LINUX)
class NoRoomTest {
    private static final String OLD = "the old page";

    private final Cases cases = new Cases("NoRoomTest");

    @Test
    void everyCommandSurvivesAFullDisk() throws Throwable {
        Workshop shop = Workshop.shared();
        cases.run(70, (number, random) -> {
            Command command = shop.anyWriting(random);
            long bytes = (long) Math.pow(2, random.nextDouble(0, 16));
            one(shop, command, bytes, "case " + number + ", " + command.name() + " within " + bytes + " bytes");
        });
        assertThat(cases.counted()).as("some must have met the limit").anyMatch(count -> count.endsWith(" 4"));
    }

    /** Rows are written while the log is read: a failure of the one was told as one of the other. */
    @Test
    void aTableOfALogIsToldByItsName(@TempDir Path dir) throws Throwable {
        Path log = dir.resolve("log.csv"), table = dir.resolve("table.csv");
        String rows = IntStream.range(0, 3000)
                .mapToObj(step -> step + ",a," + (10 + step) + ",1,0.01,0.1\n")
                .collect(Collectors.joining());
        Files.writeString(log, "step,matrix,weight_norm,update_norm,rate,decay\n" + rows);
        Ht ht = new Ht();
        limit(1 << 13);
        try {
            assertThat(ht.run("effective", log, "--csv", table)).isEqualTo(4);
        } finally {
            limit(-1);
        }
        assertThat(ht.err()).contains("ht: cannot write " + table);
        assertThat(dir).isDirectoryNotContaining("glob:**table*");
    }

    private void one(Workshop shop, Command command, long bytes, String about) throws Throwable {
        shop.expected(command); // before anything is there
        Path page = shop.directory.resolve("made.html");
        boolean report = command.name().equals("report");
        if (report) {
            Files.writeString(page, OLD);
        }
        Ht ht = shop.ht;
        int exit;
        limit(bytes);
        try {
            exit = ht.run(command.args());
        } finally {
            limit(-1);
        }
        cases.count(command.name() + " " + exit);
        long sentences =
                ht.err().lines().filter(line -> line.startsWith("ht: ")).count();
        if (exit > 1 && (exit != 4 || sentences != 1)) {
            cases.wrong(about + ": exit " + exit + ", " + ht.err().strip());
        }
        if (exit > 1 && report && !Files.readString(page).equals(OLD)) {
            cases.wrong(about + ": the old page is gone");
        }
        shop.left(command)
                .filter(left -> left.endsWith(".part") || !report)
                .forEach(left -> cases.wrong(about + ": left " + left));
        if (exit > 1) {
            shop.again(command).ifPresent(what -> cases.wrong(about + ": " + what));
        }
        shop.tidy(command);
    }

    /** The largest size of a file that this process writes, as ulimit -f; below zero: any. */
    static void limit(long bytes) throws Throwable {
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
