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
        assertThat(ht.fine("compare", muon, ball))
                .contains("matrices.rate: 0.1 | 0.2")
                .contains("more than noise");
    }

    /** The difference was that of an earlier step than the losses above it, and did not say so. */
    @Test
    void aDifferenceNamesItsStep() throws Exception {
        Path whole = run("whole", 1, 0.1, 3.5, 3.0), part = run("part", 1, 0.2, 3.75, 3.0);
        Path metrics = part.resolve("metrics.jsonl");
        Files.write(metrics, Files.readAllLines(metrics).subList(0, 2));
        assertThat(ht.fine("compare", whole, part)).contains("part - whole at step 1: +0.25000;");
    }

    @Test
    void noiseIsCalledSo() throws Exception {
        run("a", 1, 0.1, 3.5, 3.0);
        run("a", 2, 0.1, 3.5, 3.2);
        run("b", 1, 0.2, 3.5, 3.1);
        run("b", 2, 0.2, 3.5, 3.1);
        assertThat(ht.fine("compare", out)).contains("within noise");
    }

    /** A key that came later stands in the newer run only, with the value that the older one had without it. */
    @Test
    void anOlderRunIsOfTheSameSide() throws Exception {
        run("a", 1, 0.1, 3.5, 3.0);
        run("b", 1, 0.2, 3.5, 3.1);
        run("b", 2, 0.2, 3.5, 3.1);
        Path newer = run("a", 2, 0.1, 3.5, 3.2).resolve("config.yaml");
        Files.writeString(newer, Files.readString(newer) + "  policy: none\n  proxy_rate: 0.0\n");
        assertThat(ht.json("compare", out).at("/sides/0/seeds")).hasSize(2);
    }

    /** A measured ratio was known by its many digits: one of few made two sides of two seeds. */
    @Test
    void aRunWhoseRatioDependsOnItsSeedIsOneSide() throws Exception {
        for (int seed = 1; seed < 3; seed++) {
            run("a", seed, 0.1, 3.5, 3.0);
            Path measured = run("b", seed, 0.1, 3.5, 3.1).resolve("config.yaml");
            Files.writeString(measured, Files.readString(measured) + "  final_ratio: 0." + seed + "\n");
        }
        assertThat(ht.json("compare", out).at("/differences/0/pairs").asInt()).isEqualTo(2);
    }

    /** Seven tests at 0.05 call noise more than that once in three times. */
    @Test
    void manySidesAreRankedAndCorrected() throws Exception {
        double[][] ends = {{3.0, 3.1, 3.2}, {2.9, 2.99, 3.11}, {2.8, 2.99, 2.95}};
        for (int side = 0; side < 3; side++) {
            for (int seed = 0; seed < 3; seed++) {
                run("abc".substring(side, side + 1), seed, 0.1 * (side + 1), 3.5, ends[side][seed]);
            }
        }
        JsonNode all = ht.json("compare", out, "--baseline b");
        assertThat(all.path("sides").findValuesAsString("name")).containsExactly("b", "c", "a");
        double p = all.at("/differences/1/p").asDouble(),
                other = all.at("/differences/0/p").asDouble();
        assertThat(p).isLessThan(other);
        assertThat(all.at("/differences/1/holm").asDouble()).isCloseTo(2 * p, within(1e-15));
        assertThat(all.at("/differences/0/holm").asDouble()).isEqualTo(Math.max(2 * p, other));
        assertThat(ht.fine("compare", out)).contains("baseline: a, the first side; --baseline SIDE chooses another");
        assertThat(ht.fine("compare", out, "--baseline", out.resolve("seed-0/c")))
                .contains(
                        "baseline: c, ",
                        "b - c at step 2: ",
                        "by Holm for 2 tests",
                        "same tokens",
                        "same time",
                        "peak rate");
        assertThat(ht.refused("compare", out, "--baseline d")).contains("the sides are a, b, c");
    }

    @Test
    void aSideHasTheNameOfItsRunsWithoutTheirSeeds() throws Exception {
        String[][] names = {
            {"muon-1", "muon-2"},
            {"lion", "lion-s2"},
            {"adam-0.02-seed11", "adam-0.02-seed12"},
            {"x1", "y2"},
            {"sgd", "sgd"},
            {"lr0.041", "lr0.042"},
            {"soap0.1s1", "soap0.1s2"},
            {"signum-1", "signum-10"}
        };
        for (int side = 0; side < names.length; side++) {
            run(names[side][0], 1, (side + 1) / 10.0, 3.5, 3.0 + side);
            run(names[side][1], 2, (side + 1) / 10.0, 3.5, 3.1 + side);
        }
        assertThat(ht.json("compare", out, "--baseline mu").path("sides").findValuesAsString("name"))
                .containsExactly("muon", "lion", "adam-0.02", "rate=0.4", "sgd", "rate=0.6", "soap0.1", "signum");
        assertThat(ht.refused("compare", out, "--baseline m"))
                .contains("--baseline is 'm', which is a part of 3 names; the sides are adam-0.02, lion, ");
        run("muon-3", 1, 0.9, 3.5, 12);
        run("muon-4", 2, 0.9, 3.5, 12);
        assertThat(ht.json("compare", out, "--baseline lion").path("sides").findValuesAsString("name"))
                .containsExactly(
                        "lion",
                        "rate=0.1",
                        "adam-0.02",
                        "rate=0.4",
                        "sgd",
                        "rate=0.6",
                        "soap0.1",
                        "signum",
                        "rate=0.9");
    }

    /** By hand: of two seeds p is 1 - 2 / pi atan t, for differences 1 +- 1 / t; a side with one common seed has no test. */
    @Test
    void holmCountsTheTestsThatWereMade() throws Exception {
        run("a", 1, 0.1, 3.5, 3);
        run("a", 2, 0.1, 3.5, 3);
        double[] p = {0.04, 0.01, 0.03}, holm = {0.06, 0.03, 0.06};
        for (int side = 0; side < 3; side++) {
            double t = Math.tan(Math.PI / 2 * (1 - p[side]));
            run("side-" + side, 1, 0.2 + side, 3.5, 3 + (side + 1) * (1 + 1 / t));
            run("side-" + side, 2, 0.2 + side, 3.5, 3 + (side + 1) * (1 - 1 / t));
        }
        run("single", 1, 0.5, 3.5, 9);
        JsonNode all = ht.json("compare", out, "--baseline a").path("differences");
        for (int side = 0; side < 3; side++) {
            assertThat(all.get(side).path("name").asString()).isEqualTo("side-" + side);
            assertThat(all.get(side).path("p").asDouble()).isCloseTo(p[side], within(1e-9));
            assertThat(all.get(side).path("holm").asDouble()).isCloseTo(holm[side], within(1e-9));
        }
        assertThat(all.at("/3/holm").isNull()).isTrue();
        assertThat(ht.fine("compare", out, "--baseline a"))
                .contains("p = 0.010, 0.030 by Holm for 3 tests: more than noise")
                .contains("p = 0.040, 0.060 by Holm for 3 tests: within noise")
                .contains("p = 0.030, 0.060 by Holm for 3 tests: within noise");
    }

    /** Three of five trials: the lowest is among them in 6 of 10 choices, the second is the lowest in 3, the third in 1. */
    @Test
    void aSearchOfEqualSize() throws Exception {
        double[] muon = {5, 1, 2, 4, 3}, adam = {1.5, 2.5, 3.5};
        for (int i = 0; i < 8; i++) {
            boolean first = i < 5;
            Path run = run("run-" + i, 1, i, 6, first ? muon[i] : adam[i - 5]);
            Files.writeString(
                    run.resolve("config.yaml"),
                    "seed: 1\nmatrices: {mode: base, direction: %s, rate: %d}".formatted(first ? "muon" : "adam", i));
        }
        Path fair = run("run-fair", 1, 9, 6, 1);
        Files.writeString(fair.resolve("config.yaml"), "seed: 1\nmatrices: {mode: fair, direction: adam, rate: 9}");
        JsonNode searches = ht.json("compare", out).path("searches"); // in which a run at another's rates is no trial
        assertThat(searches.at("/0/optimizer").asString()).isEqualTo("muon, base");
        assertThat(searches.at("/0/expected").asDouble()).isCloseTo(0.6 * 1 + 0.3 * 2 + 0.1 * 3, within(1e-12));
        assertThat(searches.at("/1/expected").asDouble()).as("all of them").isEqualTo(1.5);
        assertThat(ht.fine("compare", out)).contains("of equally many");
        Path other = run("run-8", 1, 8, 6, 1);
        Files.writeString(other.resolve("config.yaml"), "seed: 1\nnetwork: M2\nmatrices: {rate: 8}");
        assertThat(ht.json("compare", out).path("searches"))
                .as("of two networks")
                .isEmpty();
    }

    /** A side whose second seed was an unlucky one came behind a worse side without that seed. */
    @Test
    void theOrderIsThatOfCommonSeeds() throws Exception {
        double[][] ends = {{1, 0.1, 2.0}, {2, 0.1, 4.0}, {1, 0.2, 2.5}, {1, 0.3, 9.0}, {2, 0.3, 9.0}};
        for (double[] end : ends) {
            run("rate-" + end[1], (long) end[0], end[1], 9.5, end[2]);
        }
        Path adam = run("adam", 1, 1, 9.5, 3);
        Files.writeString(adam.resolve("config.yaml"), "seed: 1\nmatrices: {direction: adam}");
        JsonNode all = ht.json("compare", out, "--baseline rate-0.3");
        assertThat(all.path("sides").findValuesAsString("name"))
                .containsExactly("rate-0.3", "rate-0.1", "rate-0.2", "adam");
        assertThat(all.at("/sides/1/validation").asDouble())
                .as("of all its seeds")
                .isEqualTo(3);
        assertThat(all.at("/searches/1/best").asDouble()).isEqualTo(2);
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
        Path file = Files.writeString(out.resolve("a.yaml"), "network: M1");
        assertThat(ht.refused("compare", file)).contains(file + " is no directory; give a run's directory");
        Path unknown = run("e", 1, 0.4, 3, 3).resolve("config.yaml");
        Files.writeString(unknown, "seed: abc");
        assertThat(ht.refused("compare", a, unknown.getParent())).contains(unknown + " has the seed abc");
        Path empty = run("d", 1, 0.3, 3, 3);
        Files.writeString(empty.resolve("metrics.jsonl"), "");
        assertThat(ht.refused("compare", a, empty)).contains("no validation loss yet");
    }

    /** By hand: at step 1 the mean is 3.02, at step 2 2.998, with an interval of 2.998 +- 4.303 * 0.002 / sqrt(3). */
    @Test
    void stepsToALoss() throws Exception {
        double[] early = {3.01, 3.03, 3.02}, end = {2.996, 3.000, 2.998};
        for (int seed = 0; seed < 3; seed++) {
            run("a", seed, 0.1, early[seed], end[seed]);
            run("b", seed, 0.2, 3.5, 3.1);
        }
        assertThat(below("a", 3.1)).as("all at once").isEqualTo("1 1 1");
        assertThat(below("a", 3.0)).as("0.002 sqrt(3) is 0.0035").isEqualTo("2 - -");
        assertThat(below("a", 3.0005)).as("0.0025 sqrt(3) is 0.0043").isEqualTo("2 2 -");
        assertThat(below("a", 3.004)).as("the interval ends at 3.00297").isEqualTo("2 2 2");
        assertThat(below("b", 3.0)).as("never").isEqualTo("- - -");
        assertThat(ht.fine("compare", out, "--below 3.0005"))
                .contains("below 3.0005")
                .containsPattern("a +3 +2 +2 +-\\n");
        for (String no : List.of("NaN", "-1", "0", "Infinity")) {
            assertThat(ht.refused("compare", out, "--below", no)).contains("--below is ", "a number above zero");
        }
        assertThat(ht.json("compare", out).at("/sides/0/below").isNull()).isTrue();
        assertThat(ht.json("compare", out.resolve("seed-0"), "--below 3.004")
                        .at("/sides/0/below/interval")
                        .isNull())
                .as("one seed has no interval")
                .isTrue();
    }

    private String below(String side, double loss) {
        for (JsonNode found : ht.json("compare", out, "--below", loss).path("sides")) {
            if (found.path("name").asString().equals(side)) {
                JsonNode below = found.path("below");
                return (below.path("mean") + " " + below.path("rule") + " " + below.path("interval"))
                        .replace("null", "-");
            }
        }
        throw new AssertionError(side);
    }
}
