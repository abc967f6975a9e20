package hypertransfer.train.cpu;

import hypertransfer.train.Rig;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Variant;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Run in a JVM of its own whose heap is resident from the start, so that what else becomes resident is the engine's, and in
 * which no other test has trained: that decides how the compiler sees vectors through. Prints one line: the bytes that a step
 * allocates once they are compiled, the growth of heap and process over 2,000 tiny steps, the memory table's total, and what
 * it took.
 */
final class Footprint {
    private static final long ROUGHLY_NOTHING = 1 << 19;

    private Footprint() {}

    public static void main(String[] args) throws IOException {
        long perStep = Long.MAX_VALUE, heapGrowth = Long.MAX_VALUE, growth = Long.MAX_VALUE;
        try (Rig run = Rig.cpu(new Architecture(Variant.M1, 11, 1, 64, 32, 32), 2, 1)) {
            var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
            for (int round = 0; round < 40 && perStep > MemoryTest.HARDLY_ANY; round++) {
                long before = threads.getCurrentThreadAllocatedBytes();
                steps(run, 100);
                perStep = (threads.getCurrentThreadAllocatedBytes() - before) / 100;
            }
        }
        try (Rig run = Rig.cpu(new Architecture(Variant.M1, 11, 1, 16, 8, 8), 2, 1)) {
            steps(run, 100); // classes and what they load
            // The compiler takes memory while it works, but not for ever; a leak shows in every round.
            for (int round = 0; round < 8 && (heapGrowth >= ROUGHLY_NOTHING || growth >= ROUGHLY_NOTHING); round++) {
                long heap = heap(), process = resident();
                steps(run, 2000);
                heapGrowth = heap() - heap;
                growth = resident() - process;
            }
        }
        long before = resident();
        try (Rig run = Rig.cpu(new Architecture(Variant.M1, 18013, 1, 256, 32, 32), 8, 2)) {
            run.step(0.01);
            System.out.println(
                    perStep + " " + heapGrowth + " " + growth + " " + run.memory.total() + " " + (resident() - before));
        }
    }

    private static void steps(Rig run, int count) {
        for (int t = 0; t < count; t++) {
            run.step(0.01);
        }
    }

    private static long heap() {
        for (int i = 0; i < 3; i++) {
            System.gc();
        }
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }

    /** Memory that is no file's. */
    private static long resident() throws IOException {
        return Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(line -> line.startsWith("RssAnon:"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) * 1024)
                .findFirst()
                .orElseThrow();
    }
}
