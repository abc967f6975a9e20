package hypertransfer.train.cpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.withinPercentage;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hypertransfer.train.Rig;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Parameter;
import hypertransfer.train.network.Variant;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The same run gives the same bits, whatever the number of threads, and on a second start. A step allocates nothing that stays,
 * and the table tells what the process takes.
 */
class CpuRunTest {
    /** Bytes of a step. */
    private static final long HARDLY_ANY = 16_000;

    private static final long MIB = 1 << 20;
    private static final long ROUGHLY_NOTHING = MIB / 2;

    /** Vectors are objects until the compiler has seen them through; then a step makes only the optimizer's few. */
    @Test
    void stepsAreFlatMakeHardlyAnyGarbageAndTheTableIsTrue() throws Exception {
        assumeTrue(Files.isReadable(Path.of("/proc/self/status")), "only Linux tells what is resident");
        long[] footprint = measured();
        assertThat(footprint[0]).as("bytes that a step allocates").isLessThanOrEqualTo(HARDLY_ANY);
        assertThat(footprint[1]).as("growth of the heap").isLessThan(ROUGHLY_NOTHING);
        assertThat(footprint[2]).as("growth of the process").isLessThan(ROUGHLY_NOTHING);
        assertThat(footprint[3]).as("the table's total").isGreaterThan(150 * MIB);
        assertThat((double) footprint[4]).as("what it took").isCloseTo(footprint[3], withinPercentage(10));
    }

    /** The numbers that this class prints in a JVM of its own, whose heap is resident from the start. */
    private static long[] measured() throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(
                List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString()));
        command.addAll(List.of("-XX:+UseSerialGC", "-Xms256m", "-Xmx256m", "-XX:+AlwaysPreTouch"));
        command.addAll(List.of("--add-modules", "jdk.incubator.vector", "--enable-native-access=ALL-UNNAMED"));
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), CpuRunTest.class.getName()));
        Process process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        assertThat(process.waitFor()).as(out).isZero();
        return Arrays.stream(out.split(" ")).mapToLong(Long::parseLong).toArray();
    }

    /**
     * Run in a JVM of its own whose heap is resident from the start, so that what else becomes resident is the engine's, and in
     * which no other test has trained: that decides how the compiler sees vectors through. Prints one line: the bytes that a step
     * allocates once they are compiled, the growth of heap and process over 2,000 tiny steps, the memory table's total, and what
     * it took.
     */
    public static void main(String[] args) throws IOException {
        long perStep = Long.MAX_VALUE, heapGrowth = Long.MAX_VALUE, growth = Long.MAX_VALUE;
        try (Rig run = Rig.cpu(new Architecture(Variant.M1, 11, 1, 64, 32, 32), 2, 1)) {
            var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
            for (int round = 0; round < 40 && perStep > HARDLY_ANY; round++) {
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

    private static Map<String, double[]> train(Variant variant, int threads) {
        Architecture odd = new Architecture(variant, 307, 2, 160, 32, 71);
        Map<String, double[]> end = new LinkedHashMap<>();
        try (Rig rig = Rig.cpu(odd, 5, threads)) {
            end.put("losses", rig.losses(2, 0.01));
            for (Parameter p : rig.parameters.all()) {
                end.put(p.name(), rig.engine.read(p.master()));
            }
        }
        return end;
    }

    @ParameterizedTest
    @EnumSource
    void bitsDoNotDependOnThreads(Variant variant) {
        Map<String, double[]> one = train(variant, 1);
        assertThat(one.get("losses")[1]).isLessThan(one.get("losses")[0]);
        for (int threads : new int[] {1, 2, 4}) {
            train(variant, threads)
                    .forEach((name, values) -> assertThat(values)
                            .as("%s on %d threads", name, threads)
                            .isEqualTo(one.get(name)));
        }
    }
}
