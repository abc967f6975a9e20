package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.assertj.core.api.Assertions.withinPercentage;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

class BenchTest {
    private final Ht ht = new Ht();

    @Test
    void theLastLineHasTheNamesThatMachinesCompare() {
        JsonNode summary = ht.json("bench --preset demo --network M2 --engine cpu --batch 1 --seconds 0.01"
                + " --set model.layers=1 --set model.width=16 --set model.head=8 --set model.sequence=16");
        assertThat(summary.propertyNames())
                .containsExactly(
                        "preset network engine batch micro_ms optimizer_ms tokens_per_s peak_bytes".split(" "));
        assertThat(summary.get("engine").asString()).isEqualTo("cpu");
        assertThat(summary.get("batch").asInt()).isEqualTo(1);
        // The preset's step has 2048 tokens, so it takes 128 micro-batches of one sequence.
        double ms = 128 * summary.get("micro_ms").asDouble()
                + summary.get("optimizer_ms").asDouble();
        assertThat(summary.get("tokens_per_s").asDouble() * ms / 1000).isCloseTo(2048, withinPercentage(0.001));
        assertThat(ht.fine(
                        "bench --preset demo --engine cpu --batch 1 --seconds 0.01 --set model.layers=1 --set model.width=16"
                                + " --set model.head=8 --set model.sequence=16 --set model.accumulation=4"))
                .contains(" tokens/s with 4 micro-batches per step");
    }

    @ParameterizedTest
    @ValueSource(strings = {"reference", "cpu"})
    void whichOperationTakesHowMuch(String engine) {
        String bench = "bench --preset demo --batch 1 --seconds 0.01 --operations --set model.layers=1"
                + " --set model.width=16 --set model.head=8 --set model.sequence=8 --engine " + engine;
        JsonNode summary = ht.json(bench);
        List<String> names = new ArrayList<>();
        summary.get("operations").forEach(o -> {
            names.add(o.get("name").asString());
            assertThat(o.get("count").asInt()).isPositive();
            assertThat(o.get("ms").asDouble()).isPositive();
        });
        assertThat(names).contains("feed", "embed", "attention", "head", "orthogonalize", "readings", "move", "zero");
        assertThat(names).doesNotContain("replay", "await");
        List<String> lines = ht.fine(bench).lines().toList();
        assertThat(lines).first().isEqualTo("memory");
        assertThat(lines).anyMatch(line -> line.matches("operation +calls +ms +%"));
        assertThat(lines).anyMatch(line -> line.matches("attention +1\\.0 +[0-9.]+ +[0-9.]+"));
        double percent = lines.stream()
                .filter(line -> line.matches("(" + String.join("|", names) + "|between operations) .*"))
                .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' '))))
                .sum();
        assertThat(percent).isCloseTo(100, within(0.06 * (names.size() + 1)));
    }

    @Test
    void badInputIsNamed() {
        assertThat(ht.refused("bench --preset huge")).contains("unknown preset 'huge'");
        assertThat(ht.refused("bench --preset demo --seconds 0")).contains("--seconds is 0.0");
        assertThat(ht.refused("bench --preset demo --batch 0 --engine cpu")).contains("batch is 0");
        assertThat(ht.refused("bench --preset demo --network M3")).contains("expected one of [M1, M2]");
    }
}
