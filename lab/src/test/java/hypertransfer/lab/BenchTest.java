package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.withinPercentage;

import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

class BenchTest {
    private final Ht ht = new Ht();

    @Test
    void theLastLineHasTheNamesThatMachinesCompare() {
        JsonNode summary = ht.json("bench --preset demo --network M2 --engine cpu --batch 1 --seconds 0.01");
        assertThat(ht.out().lines()).first().isEqualTo("memory");
        assertThat(summary.propertyNames())
                .containsExactly(
                        "preset network engine batch micro_ms optimizer_ms tokens_per_s peak_bytes".split(" "));
        assertThat(summary.get("engine").asString()).isEqualTo("cpu");
        assertThat(summary.get("batch").asInt()).isEqualTo(1);
        // The preset's step is 16 sequences, so it takes 16 micro-batches of one.
        double ms = 16 * summary.get("micro_ms").asDouble()
                + summary.get("optimizer_ms").asDouble();
        assertThat(summary.get("tokens_per_s").asDouble() * ms / 1000).isCloseTo(16 * 128, withinPercentage(0.001));
    }

    @Test
    void whatOneWaitsFor() {
        JsonNode phases = ht.json("bench --preset demo --engine cpu --batch 1 --phases");
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
        assertThat(ht.refused("bench --preset huge")).contains("unknown preset 'huge'");
        assertThat(ht.refused("bench --preset demo --seconds 0")).contains("--seconds is 0.0");
        assertThat(ht.refused("bench --preset demo --batch 0 --engine cpu")).contains("batch is 0");
        assertThat(ht.refused("bench --preset demo --network M3")).contains("expected one of [M1, M2]");
    }
}
