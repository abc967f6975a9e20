package hypertransfer.train.cpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.withinPercentage;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hypertransfer.engine.cpu.thread.Twin;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Variant;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A step allocates nothing that stays, and the table tells what the process takes. */
class MemoryTest {
    private static final long MIB = 1 << 20;

    @Test
    void twoThousandStepsAreFlatAndTheTableIsTrue() throws Exception {
        assumeTrue(Files.isReadable(Path.of("/proc/self/status")), "only Linux tells what is resident");
        long[] footprint = footprint();
        assertThat(footprint[0]).as("growth of the heap").isLessThan(MIB / 2);
        assertThat(footprint[1]).as("growth of the process").isLessThan(MIB / 2);
        assertThat(footprint[2]).as("the table's total").isGreaterThan(150 * MIB);
        assertThat((double) footprint[3]).as("what it took").isCloseTo(footprint[2], withinPercentage(10));
    }

    private static long[] footprint() throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(
                List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString()));
        command.addAll(List.of("-XX:+UseSerialGC", "-Xms256m", "-Xmx256m", "-XX:+AlwaysPreTouch"));
        command.addAll(List.of("--add-modules", "jdk.incubator.vector", "--enable-native-access=ALL-UNNAMED"));
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), Footprint.class.getName()));
        Process process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        assertThat(process.waitFor()).as(out).isZero();
        return Arrays.stream(out.split(" ")).mapToLong(Long::parseLong).toArray();
    }

    /**
     * Vectors are objects until the compiler has seen them through; then a step makes only the optimizer's few. They are demanded
     * here: in so small a network loops, which copy their rows, may stay the faster form for thousands of steps.
     */
    @Test
    void aStepMakesHardlyAnyGarbage() {
        Twin.demand(Twin.Form.VECTORS);
        try (Run run = new Run(new Architecture(Variant.M1, 11, 1, 64, 32, 32), 2, 1)) {
            var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
            long perStep = Long.MAX_VALUE;
            for (int round = 0; round < 40 && perStep > 16_000; round++) {
                long before = threads.getCurrentThreadAllocatedBytes();
                for (int t = 0; t < 100; t++) {
                    run.step();
                }
                perStep = (threads.getCurrentThreadAllocatedBytes() - before) / 100;
            }
            assertThat(perStep).isLessThanOrEqualTo(16_000);
        } finally {
            Twin.demand(Twin.Form.FASTER);
        }
    }
}
