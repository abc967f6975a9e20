package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.withinPercentage;

import hypertransfer.lab.terminal.Exit;
import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class BenchTest {
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(String... args) {
        return Main.run(new PrintWriter(out), new PrintWriter(err), false, args);
    }

    @Test
    void theLastLineHasTheNamesThatMachinesCompare() {
        assertThat(run(
                        "bench",
                        "--preset",
                        "demo",
                        "--network",
                        "M2",
                        "--engine",
                        "cpu",
                        "--batch",
                        "1",
                        "--seconds",
                        "0.01"))
                .isZero();
        String[] lines = out.toString().split("\\R");
        assertThat(lines[0]).isEqualTo("memory");
        JsonNode summary = JsonMapper.shared().readTree(lines[lines.length - 1]);
        assertThat(summary.propertyNames())
                .containsExactly(
                        "preset",
                        "network",
                        "engine",
                        "batch",
                        "micro_ms",
                        "optimizer_ms",
                        "tokens_per_s",
                        "peak_bytes");
        assertThat(summary.get("engine").asString()).isEqualTo("cpu");
        assertThat(summary.get("batch").asInt()).isEqualTo(1);
        // The preset's step is 16 sequences, so it takes 16 micro-batches of one.
        double ms = 16 * summary.get("micro_ms").asDouble()
                + summary.get("optimizer_ms").asDouble();
        assertThat(summary.get("tokens_per_s").asDouble() * ms / 1000).isCloseTo(16 * 128, withinPercentage(0.001));
    }

    @Test
    void whatOneWaitsFor() {
        assertThat(run("bench", "--preset", "demo", "--engine", "cpu", "--batch", "1", "--phases"))
                .as(err.toString())
                .isZero();
        String[] lines = out.toString().split("\\R");
        JsonNode phases = JsonMapper.shared().readTree(lines[lines.length - 1]);
        assertThat(phases.propertyNames())
                .containsExactly(
                        "the program",
                        "engine, memory and weights",
                        "engine, memory and weights: examining the machine",
                        "engine, memory and weights: memory",
                        "engine, memory and weights: fingerprint of the data",
                        "engine, memory and weights: drawing",
                        "engine, memory and weights: optimizer",
                        "first validation",
                        "step 1",
                        "step 2",
                        "step 3",
                        "last validation",
                        "saving",
                        "saving: checking",
                        "saving: copying",
                        "continued: engine, memory and checkpoint",
                        "continued: engine, memory and checkpoint: examining the machine",
                        "continued: engine, memory and checkpoint: memory",
                        "continued: engine, memory and checkpoint: fingerprint of the data",
                        "continued: engine, memory and checkpoint: checksum",
                        "continued: engine, memory and checkpoint: reading");
        phases.forEach(seconds -> assertThat(seconds.asDouble()).isNotNegative());
    }

    @Test
    void badInputIsNamed() {
        assertThat(run("bench", "--preset", "huge")).isEqualTo(Exit.BAD_INPUT);
        assertThat(run("bench", "--preset", "demo", "--seconds", "0")).isEqualTo(Exit.BAD_INPUT);
        assertThat(run("bench", "--preset", "demo", "--batch", "0", "--engine", "cpu"))
                .isEqualTo(Exit.BAD_INPUT);
        assertThat(run("bench", "--preset", "demo", "--network", "M3")).isEqualTo(Exit.BAD_INPUT);
        assertThat(err.toString())
                .contains("unknown preset 'huge'", "--seconds is 0.0", "batch is 0", "expected one of [M1, M2]");
    }
}
