package hypertransfer.train.cpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.withinPercentage;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A step allocates nothing that stays, and the table tells what the process takes. */
class MemoryTest {
    /** Bytes of a step. */
    static final long HARDLY_ANY = 16_000;

    private static final long MIB = 1 << 20;

    /** Vectors are objects until the compiler has seen them through; then a step makes only the optimizer's few. */
    @Test
    void stepsAreFlatMakeHardlyAnyGarbageAndTheTableIsTrue() throws Exception {
        assumeTrue(Files.isReadable(Path.of("/proc/self/status")), "only Linux tells what is resident");
        long[] footprint = measured(Footprint.class);
        assertThat(footprint[0]).as("bytes that a step allocates").isLessThanOrEqualTo(HARDLY_ANY);
        assertThat(footprint[1]).as("growth of the heap").isLessThan(MIB / 2);
        assertThat(footprint[2]).as("growth of the process").isLessThan(MIB / 2);
        assertThat(footprint[3]).as("the table's total").isGreaterThan(150 * MIB);
        assertThat((double) footprint[4]).as("what it took").isCloseTo(footprint[3], withinPercentage(10));
    }

    /** The numbers that a program prints in a JVM of its own, whose heap is resident from the start. */
    private static long[] measured(Class<?> program) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(
                List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString()));
        command.addAll(List.of("-XX:+UseSerialGC", "-Xms256m", "-Xmx256m", "-XX:+AlwaysPreTouch"));
        command.addAll(List.of("--add-modules", "jdk.incubator.vector", "--enable-native-access=ALL-UNNAMED"));
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), program.getName()));
        Process process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        assertThat(process.waitFor()).as(out).isZero();
        return Arrays.stream(out.split(" ")).mapToLong(Long::parseLong).toArray();
    }
}
