package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.train.log.Gap;
import hypertransfer.train.log.Line;
import hypertransfer.train.log.Run;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** Experiments with grids, seeds and the schedules of other runs. */
class StandingsTest {
    private static final String FILE = """
            title: A small arena
            seeds: 2
            weights: false
            settings: [engine=reference, network=M2, matrices.gradient=mode, steps=8, validation.batches=1, model.layers=1,
              model.width=8, model.head=4, model.sequence=8, model.batch=2]
            runs:
              muon: {settings: [matrices.rate=0.02|0.04|0.08, matrices.decay=0.2]}
              adam: {settings: [matrices.direction=adam, matrices.rate=0.001|0.004]}
              # one line adds a row
              wild: {settings: [matrices.direction=lion, matrices.rate=1.0e+300|1.0e+301, matrices.decay=0]}
              mad: {settings: [matrices.direction=lion, matrices.rate=1.0e+300, matrices.decay=0]}
            again:
              equal: {of: [muon, adam, wild, mad], recorded_of: muon, settings: [matrices.mode=fair]}
              ball: {of: [muon, adam, mad], follows: equal, series: rate, settings: [matrices.mode=hypertransfer-plus]}
            presets: {demo: {}}
            """;

    @TempDir
    static Path dir;

    private static Path file;
    private static Path out;
    private static String told;

    private final Ht ht = new Ht();

    @BeforeAll
    static void arena() throws IOException {
        file = Files.writeString(dir.resolve("mine.yaml"), FILE);
        out = dir.resolve("out");
        told = new Ht().fine("reproduce", file, "--out", out);
    }

    private static double loss(Path run) {
        return new Run(run).status().validation();
    }

    private static List<Line.Matrices> lines(Path run) {
        return new Run(run).matrices().lines(Line.Matrices.class).toList();
    }

    /** The folder in which a run was trained with the best point of its grid. */
    private static String best(String run) throws IOException {
        try (Stream<Path> all = Files.list(out.resolve("seed-1234"))) {
            return all.filter(path -> path.getFileName().toString().matches(run + "-[0-9.]+"))
                    .min(Comparator.comparingDouble(StandingsTest::loss))
                    .orElseThrow()
                    .getFileName()
                    .toString();
        }
    }

    /** The folder of a run that was made from muon, or from adam and muon. */
    private static String made(String run) throws IOException {
        return run
                + (run.startsWith("adam") ? best("adam").substring(4) : "")
                + best("muon").substring(4);
    }

    @Test
    void theBestPointOfTheFirstSeedIsTaken() throws IOException {
        assertThat(out.resolve("seed-1234")).isDirectoryContaining("glob:**muon-0.02");
        try (Stream<Path> second = Files.list(out.resolve("seed-1235"))) {
            assertThat(second.filter(Files::isDirectory)
                            .map(path -> path.getFileName().toString()))
                    .containsExactlyInAnyOrder(
                            best("muon"),
                            best("adam"),
                            "mad",
                            made("muon-equal"),
                            made("adam-equal"),
                            made("muon-ball"),
                            made("adam-ball"));
        }
        assertThat(new Run(out.resolve("seed-1235").resolve(best("muon")))
                        .configuration()
                        .seed())
                .isEqualTo(1235);
        assertThat(told).contains("best at an end of its grid: ", "adam (matrices.rate)");
        assertThat(Files.exists(
                        out.resolve("seed-1234").resolve(made("adam-equal")).resolve("checkpoints")))
                .isFalse();
    }

    /** In Base, and the same dynamics carried by a Hyperball; a run at its own schedule is itself. */
    @Test
    void everyMatrixTurnsAsItDoesInTheNamedRun() throws IOException {
        for (String seed : List.of("seed-1234", "seed-1235")) {
            Path in = out.resolve(seed), muon = in.resolve(best("muon"));
            List<Line.Matrices> leader = lines(muon), equal = lines(in.resolve(made("adam-equal")));
            assertThat(equal).hasSize(8);
            for (int t = 0; t < 8; t++) {
                assertThat(equal.get(t).effective())
                        .containsExactly(leader.get(t).effective(), within(1e-12));
            }
            assertThat(Gap.of(in.resolve(made("muon-equal")), muon).training().largest())
                    .isLessThan(1e-12);
            for (String run : List.of("muon", "adam")) {
                Gap gap = Gap.of(in.resolve(made(run + "-ball")), in.resolve(made(run + "-equal")));
                assertThat(gap.training().steps()).isEqualTo(8);
                assertThat(gap.training().largest()).as(run).isZero();
                assertThat(gap.validation().largest()).as(run).isZero();
                assertThat(gap.norm())
                        .as("the Base matrices, not the Hyperball that they turn like")
                        .isLessThan(1e-12);
            }
        }
        assertThat(told).contains("adam-ball has all losses of adam-equal, to the last bit");
    }

    @Test
    void aRowThatDivergesIsAResult() throws IOException {
        assertThat(told)
                .containsPattern("wild +- +- +- ")
                .contains(
                        "mad-equal" + best("muon").substring(4) + ": left out, because mad has no result",
                        "mad-ball" + best("muon").substring(4) + ": left out, because mad-equal has no result");
        assertThat(out.resolve("seed-1234/wild-1.0e+300/state.json")).content().contains("diverged");
        assertThat(out.resolve("seed-1235")).isDirectoryNotContaining("glob:**wild*");
    }

    @Test
    void theTableIsMadeFromTheLosses() throws IOException {
        JsonNode json = ht.json("reproduce", file, "--out", out);
        assertThat(ht.err()).contains("finished before").doesNotContain("| loss");
        JsonNode own = json.at("/parts/0/rows"), equal = json.at("/parts/1/rows");
        assertThat(own.findValuesAsString("rank")).containsExactly("1", "2", "", ""); // two diverged
        assertThat(own.get(0).path("validation").asDouble())
                .isLessThan(own.get(1).path("validation").asDouble());
        double[] muon = losses(best("muon")), adam = losses(best("adam")), at = losses(made("adam-equal"));
        JsonNode row = row(equal, "adam");
        assertThat(row.path("mean").asDouble()).isCloseTo((at[0] - muon[0] + at[1] - muon[1]) / 2, within(1e-12));
        double share = (adam[0] - at[0] + adam[1] - at[1]) / (adam[0] - muon[0] + adam[1] - muon[1]);
        assertThat(row.path("share_mean").asDouble()).isCloseTo(share, within(1e-12));
        assertThat(row(own, "adam").path("tuned").path("matrices.rate").asString())
                .isEqualTo(best("adam").replace("adam-", ""));
        assertThat(row(own, "wild").path("validation").isNull()).isTrue();
        assertThat(json.at("/twins/0/gap").asDouble()).isZero();
    }

    private double[] losses(String run) {
        return Stream.of("seed-1234", "seed-1235")
                .mapToDouble(seed -> loss(out.resolve(seed).resolve(run)))
                .toArray();
    }

    private static JsonNode row(JsonNode rows, String name) {
        for (JsonNode row : rows) {
            if (row.path("row").asString().equals(name)) {
                return row;
            }
        }
        throw new AssertionError(name);
    }

    private static Path copied(String name) throws IOException {
        Path copy = dir.resolve(name);
        try (Stream<Path> all = Files.walk(out)) {
            for (Path from : all.toList()) {
                Files.copy(from, copy.resolve(out.relativize(from)));
            }
        }
        return copy;
    }

    /** One line more, in folders that were moved: only the new row is trained. */
    @Test
    void aRowIsOneLine() throws IOException {
        Path copy = copied("copy");
        Path more = Files.writeString(
                dir.resolve("more.yaml"),
                FILE.replace(
                                "  # one line adds a row",
                                "  sgd: {settings: [matrices.direction=sgd, matrices.rate=1|3]}")
                        .replace("[muon, adam, wild, mad]", "[muon, adam, wild, mad, sgd]"));
        String added = ht.fine("reproduce", more, "--out", copy);
        assertThat(added.lines().filter(line -> line.startsWith("run " + copy)))
                .hasSize(5)
                .allMatch(line -> line.contains("/sgd-"));
        assertThat(added).contains(made("adam-equal") + ": finished before").containsPattern("sgd +\\d +\\d +\\d");
    }

    /** The run looked for its rates where they had been. */
    @Test
    void anExperimentThatWasMovedFindsItsRates() throws IOException {
        Path run = copied("moved").resolve("seed-1234").resolve(made("adam-equal")),
                config = run.resolve("config.yaml");
        Files.writeString(config, Files.readString(config).replace(out.toString(), "/gone"));
        assertThat(ht.fine("verify", run, "--from 0")).contains("equal to the bit");
    }

    /** Another best point makes other runs, beside those that were made before. */
    @Test
    void aGridCanBeExtended() throws IOException {
        Path more = Files.writeString(dir.resolve("longer.yaml"), FILE.replace("0.001|0.004", "0.001|0.004|0.02"));
        Path longer = copied("longer");
        String told = ht.fine("reproduce", more, "--out", longer);
        assertThat(told.lines()
                        .filter(line -> line.startsWith("run " + longer))
                        .map(line -> line.replaceAll(".*/", "")))
                .containsExactly(
                        "adam-0.02",
                        "adam-equal-0.02" + best("muon").substring(4),
                        "adam-ball-0.02" + best("muon").substring(4),
                        "adam-0.02",
                        "adam-equal-0.02" + best("muon").substring(4),
                        "adam-ball-0.02" + best("muon").substring(4));
    }

    @Test
    void everyExperimentWithSeedsHasIntervals() throws IOException {
        Path plain = Files.writeString(dir.resolve("plain.yaml"), Ht.EXPERIMENT);
        assertThat(ht.fine("reproduce", plain, "--seeds 2 --out", dir.resolve("plain")))
                .contains("twin has all losses of muon, to the last bit", "over 2 seeds")
                .doesNotContainPattern("twin +[12] ") // it would be one test more
                .doesNotContain("share: "); // a column that is not there
        Path seed = dir.resolve("plain/seed-1235");
        assertThat(seed.resolve("muon/checkpoints")).isNotEmptyDirectory();
        Files.writeString(plain, Ht.EXPERIMENT + "weights: false\n");
        ht.fine("reproduce", plain, "--seeds 2 --out", dir.resolve("plain"));
        assertThat(seed.resolve("muon/checkpoints"))
                .as("of runs that were finished before")
                .doesNotExist();
    }

    /** All runs have the same first loss. */
    @Test
    void oneStepIsTooFewToCompare() throws IOException {
        Path plain = Files.writeString(dir.resolve("one.yaml"), Ht.EXPERIMENT);
        assertThat(ht.fine("reproduce", plain, "--set steps=1 --out", dir.resolve("one")))
                .contains("twin and muon have too few losses in common to be compared");
    }

    @Test
    void whatIsComparedWithALostRunSaysSo() throws IOException {
        String text = Ht.EXPERIMENT.replaceFirst("twin: .*", "other: {settings: [matrices.mode=hyperball]}")
                + "again: {equal: {recorded_of: other}}\n";
        String lost = "[matrices.mode=base, matrices.direction=lion, matrices.decay=0, matrices.rate=1.0e+300";
        Path file = Files.writeString(dir.resolve("lost.yaml"), text.replace("[matrices.mode=base", lost));
        assertThat(ht.fine("reproduce", file, "--out", dir.resolve("lost")))
                .contains("own: each at its own rates, compared with muon, which has no result\n");
    }

    /** Every seed has its own ratio; without its own side each the two commands agree. */
    @Test
    void seedsOfAMeasuredRatioAreOneSide() throws IOException {
        String text = Ht.EXPERIMENT
                .replaceFirst("twin: .*", "ball: {ratio_of: muon, settings: [matrices.mode=hyperball]}")
                .replace("[matrices.mode=base]", "[matrices.mode=base, matrices.final_ratio=0.1]");
        Path file = Files.writeString(dir.resolve("ratio.yaml"), text), to = dir.resolve("ratio");
        JsonNode row = ht.json("reproduce", file, "--set steps=30 --seeds 2 --out", to)
                .at("/parts/0/rows")
                .valueStream()
                .filter(one -> one.get("run").asString().equals("ball"))
                .findFirst()
                .orElseThrow();
        JsonNode compared = ht.json("compare", to, "--baseline muon").get("differences");
        assertThat(compared).hasSize(1);
        assertThat(compared.at("/0/pairs").asInt()).isEqualTo(2);
        assertThat(compared.at("/0/mean").asDouble()).isCloseTo(row.get("mean").asDouble(), within(1e-12));
        Path twin = dir.resolve("ratios"); // another Muon, and so another ratio
        ht.fine(
                "reproduce",
                Files.writeString(file, text.replace("=0.1]", "=0.2]")),
                "--set steps=30 --seeds 2 --out",
                twin);
        assertThat(ht.json("compare", to, twin).get("sides")).hasSize(4);
        assertThat(ht.refused(
                        "reproduce",
                        Files.writeString(file, text.replace("=0.1]", "=0]")),
                        "--set steps=30 --out",
                        dir.resolve("short")))
                .contains("run ball, ratio_of muon: a last rate of ");
    }

    /** One point ended the whole experiment. */
    @Test
    void aPointOfAGridMayDiverge() throws IOException {
        String own = "[matrices.mode=base, matrices.direction=lion, matrices.decay=0, matrices.rate=";
        String text = Ht.EXPERIMENT.replace("[matrices.mode=base", own + "0.001|1.0e+300");
        Path grid = Files.writeString(dir.resolve("grid.yaml"), text);
        assertThat(ht.fine("reproduce", grid, "--out", dir.resolve("grid"))).containsPattern("(?m)^muon +\\d");
        assertThat(dir.resolve("grid")).isDirectoryContaining("glob:**muon-1.0e+300");
        Files.writeString(grid, text.replace("0.001|", "1.0e+301|"));
        assertThat(ht.refused("reproduce", grid, "--out", dir.resolve("wild")))
                .contains("run muon has no result, because a grid diverged at every point; lower its rates");
    }

    /** Whether it is that run cannot be asked before the rates are known. */
    @Test
    void aRunElsewhereWithTheRatesOfOneHere() throws IOException {
        String other = "other: {like: %s, recorded_of: muon, settings: [matrices.mode=fair]}"
                .formatted(out.resolve("seed-1234").resolve(best("muon")));
        Path mixed = Files.writeString(dir.resolve("mixed.yaml"), Ht.EXPERIMENT.replaceFirst("twin: .*", other));
        assertThat(ht.fine("reproduce", mixed, "--set steps=8 --out", dir.resolve("mixed")))
                .containsPattern("(?m)^other +\\d");
    }

    /** The best of another grid would have been another configuration in the same folder. */
    @Test
    void aGridOfARunThatIsMadeFromOthersHasTheirValues() throws IOException {
        Path grids = Files.writeString(
                dir.resolve("grids.yaml"),
                FILE.replaceAll("(?m)^ +(wild|mad):.*\n", "")
                        .replace("[muon, adam, mad]", "[adam]")
                        .replace("[muon, adam, wild, mad]", "[adam]")
                        .replace("{demo: {}}", "{demo: {runs: {adam-equal: [matrices.decay=0.1|0.2]}}}"));
        Path to = copied("grids");
        assertThat(ht.fine("reproduce", grids, "--seeds 1 --out", to)) // goes on in seed-1234
                .as("what follows the best of that grid")
                .contains("adam-ball has all losses of adam-equal, to the last bit");
        for (String decay : List.of("0.1", "0.2")) {
            assertThat(to.resolve("seed-1234/adam-equal-" + decay + best("adam").substring(4)
                            + best("muon").substring(4)))
                    .isDirectory();
        }
    }
}
