package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** Runs side by side. */
class CompareTest {
    private final Ht ht = new Ht();

    @TempDir
    Path out;

    /** A run with two validations, as it would lie there. */
    private Path run(String name, long seed, double rate, double early, double end) throws Exception {
        Path run = Files.createDirectories(out.resolve("seed-" + seed).resolve(name));
        Files.writeString(run.resolve("config.yaml"), "seed: " + seed + "\nmatrices:\n  rate: " + rate + "\n");
        Files.writeString(run.resolve("metrics.jsonl"), """
                {"step":0,"loss":%s,"rate":0.1,"adam_rate":0.1,"tokens":1,"seconds":1.0}
                {"step":1,"validation":%s}
                {"step":2,"validation":%s}
                """.formatted(early, early, end));
        return run;
    }

    @Test
    void sidesAreFoundAndTested() throws Exception {
        double[][] ends = {{3.00, 2.90}, {3.10, 2.98}, {2.95, 2.87}};
        List<Path> muon = new ArrayList<>(), ball = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            muon.add(run("muon", 10 + i, 0.1, 3.5, ends[i][0]));
            ball.add(run("muonh", 10 + i, 0.2, 3.6, ends[i][1]));
        }
        JsonNode d = ht.json("compare", muon, ball).get("differences").get(0);
        assertThat(d.get("mean").asDouble()).isCloseTo(-0.1, within(1e-12));
        assertThat(d.get("deviation").asDouble()).isCloseTo(0.02, within(1e-12));
        // t = -0.1 / (0.02 / sqrt 3) = -8.66 with two degrees of freedom: p = 1 - 8.66 / sqrt(8.66^2 + 2)
        double t = 0.1 / (0.02 / Math.sqrt(3));
        assertThat(d.get("p").asDouble()).isCloseTo(1 - t / Math.sqrt(t * t + 2), within(1e-10));
        assertThat(d.get("high").asDouble()).isCloseTo(-0.1 + 4.302652729749464 * 0.02 / Math.sqrt(3), within(1e-9));
        assertThat(d.get("crossover").asInt()).isEqualTo(2);
        assertThat(d.get("largest").asDouble()).isCloseTo(0.1, within(1e-12));
        assertThat(ht.out()).contains("matrices.rate: 0.1 | 0.2").contains("more than noise");
    }

    @Test
    void noiseIsCalledSo() throws Exception {
        run("a", 1, 0.1, 3.5, 3.0);
        run("a", 2, 0.1, 3.5, 3.2);
        run("b", 1, 0.2, 3.5, 3.1);
        run("b", 2, 0.2, 3.5, 3.1);
        assertThat(ht.fine("compare", out)).contains("not told from noise");
    }

    @Test
    void badComparisons() throws Exception {
        Path a = run("a", 1, 0.1, 3.5, 3.0);
        assertThat(ht.fine("compare", a, run("b", 1, 0.2, 3.5, 3.1))).contains("one common seed");
        assertThat(ht.refused("compare", a)).contains("runs of one configuration only");
        assertThat(ht.fine("compare", a, a)).contains("no loss that both have logged differs in any bit");
        assertThat(ht.refused("compare", a, a, a)).contains("give only one of them");
        assertThat(ht.refused("compare", a, run("c", 2, 0.2, 3.5, 3.1))).contains("no seed in common");
        assertThat(ht.refused("compare", out.resolve("nowhere"))).contains("there is no directory");
        Path empty = run("d", 1, 0.3, 3, 3);
        Files.writeString(empty.resolve("metrics.jsonl"), "");
        assertThat(ht.refused("compare", a, empty)).contains("no validation loss yet");
    }
}
