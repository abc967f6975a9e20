package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.train.log.Line;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.RunStatus;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** Optimizers at one effective schedule. */
class FairTest {
    @TempDir
    Path dir;

    private final Ht ht = new Ht();
    private Path muon;
    private Path adam;
    private Path ball;

    @BeforeEach
    void configurations() throws Exception {
        muon = configuration("muon", "rate: 0.05");
        adam = configuration("adam", "direction: adam, rate: 0.002");
        ball = configuration("muonh", "mode: hyperball, rate: 0.01");
    }

    private Path configuration(String name, String matrices) throws Exception {
        return Files.writeString(dir.resolve(name + ".yaml"), """
                engine: reference
                network: M2
                steps: 10
                model: {layers: 1, width: 8, head: 4, sequence: 8, batch: 2}
                matrices: {%s}
                validation: {batches: 1}
                """.formatted(matrices));
    }

    private static List<Line.Matrices> lines(Path run) {
        return new Run(run).matrices().lines(Line.Matrices.class).toList();
    }

    @Test
    void everyoneTurnsAsTheNamedSideDoes() {
        Path out = dir.resolve("out");
        String told = ht.fine("fair", muon, adam, ball, "--schedule-of adam --seeds 2 --out", out);
        assertThat(told)
                .contains("own: each at its own rates, compared with adam", "over 2 seeds; Holm: its p, corrected")
                .contains("fair: each at the effective rates of adam, compared with adam");
        for (String side : List.of("muon", "muonh")) {
            List<Line.Matrices> own = lines(out.resolve("seed-1235").resolve(side + "-fair"));
            List<Line.Matrices> leader = lines(out.resolve("seed-1235/adam"));
            assertThat(own).hasSize(10);
            for (int t = 0; t < 10; t++) {
                assertThat(own.get(t).effective())
                        .as(side)
                        .containsExactly(leader.get(t).effective(), within(1e-12));
            }
        }
        String again = ht.fine("fair", muon, adam, ball, "--schedule-of adam --seeds 2 --out", out);
        assertThat(again).doesNotContain("| loss").contains("fair: each");
        JsonNode json = ht.json("fair", muon, adam, ball, "--schedule-of adam --seeds 2 --out", out);
        assertThat(json.at("/parts/1/reference").asString()).isEqualTo("adam");
        for (JsonNode row : json.at("/parts/1/rows")) {
            double own = mean(json, 0, row.path("row").asString()),
                    fair = mean(json, 1, row.path("row").asString());
            assertThat(row.path("share_mean").asDouble(0)).isCloseTo(own == 0 ? 0 : 1 - fair / own, within(1e-9));
        }
        assertThat(out.resolve("report.html")).isNotEmptyFile();
    }

    /** Of the first seed, whose runs are those that were given, the folder had only the fair ones. */
    @Test
    void theFolderHasAllSeeds() {
        Path all = dir.resolve("all"), out = all.resolve("fair");
        for (Path side : List.of(muon, adam)) {
            ht.fine(
                    "train",
                    side,
                    "--out",
                    all.resolve(side.getFileName().toString().replace(".yaml", "")));
        }
        ht.fine("fair", all.resolve("muon"), all.resolve("adam"), "--seeds 2 --out", out);
        for (JsonNode side : ht.json("compare", out).path("sides")) {
            assertThat(side.path("seeds")).as(side.toString()).hasSize(2);
        }
        assertThat(ht.json("runs", all)).as("each once").hasSize(6);
        assertThat(ht.json("compare", all).path("sides")).hasSize(3);
        assertThat(ht.fine("fair", all.resolve("muon"), all.resolve("adam"), "--seeds 2 --out", out))
                .doesNotContain("| loss");
    }

    /** How far a side is from the leader, at its own rates or at the leader's. */
    private static double mean(JsonNode json, int part, String side) {
        for (JsonNode row : json.at("/parts/" + part + "/rows")) {
            if (row.path("row").asString().equals(side)) {
                return row.path("mean").asDouble(0);
            }
        }
        throw new AssertionError(side);
    }

    @Test
    void finishedRunsAreUsedAsTheyAre() throws Exception {
        for (Path side : List.of(muon, adam)) {
            String name = side.getFileName().toString().replace(".yaml", "");
            ht.fine("train", side, "--out", dir.resolve("runs").resolve(name));
        }
        Path out = dir.resolve("out"), run = dir.resolve("runs/muon"), file = run.resolve("config.yaml");
        Files.writeString(file, Files.readString(file).replaceFirst("  policy: .*\n", "")); // a key that came later
        ht.fine("fair", run, dir.resolve("runs/adam"), "--out", out);
        assertThat(out.resolve("seed-1234/adam-fair")).isDirectory();
        assertThat(out.resolve("seed-1234/adam")).isSymbolicLink();
        assertThat(out.resolve("seed-1234/muon")).isSymbolicLink();
        assertThat(run).isDirectoryNotContaining("glob:**schedule*");
        assertThat(ht.refused("fair", run, adam, "--schedule-of lion")).contains("the sides are muon, adam");
        Path named = Files.copy(adam, dir.resolve("adam-fair.yaml"));
        assertThat(ht.refused("fair", adam, named)).contains("the sides adam and adam-fair clash");
        assertThat(ht.refused("fair", named, muon, adam)).contains("the sides adam and adam-fair clash");
        Path wide = Files.writeString(
                dir.resolve("wide.yaml"), Files.readString(adam).replace("width: 8", "width: 16"));
        assertThat(ht.refused("fair", run, wide)).contains("only the optimizers may differ");
    }

    /** The link to the old one was in the way, or showed another run. */
    @Test
    void aLinkedRunMayBeDeletedOrReplaced() throws Exception {
        Path runs = dir.resolve("runs"),
                others = Files.createDirectory(dir.resolve("others")),
                out = dir.resolve("out");
        ht.fine("train", muon, "--out", runs.resolve("muon"));
        ht.fine("train", adam, "--out", runs.resolve("adam"));
        ht.fine("fair", runs.resolve("muon"), runs.resolve("adam"), "--out", out);
        Path link = out.resolve("seed-1234/adam");
        Files.move(runs.resolve("adam"), others.resolve("adam"));
        ht.fine("fair", runs.resolve("muon"), others.resolve("adam"), "--out", out);
        assertThat(link).isSymbolicLink();
        assertThat(link.toRealPath()).isEqualTo(others.resolve("adam").toRealPath());
        Files.move(others.resolve("adam"), dir.resolve("gone"));
        ht.fine("fair", runs.resolve("muon"), adam, "--out", out);
        assertThat(new Run(link).status().state()).isEqualTo(RunStatus.State.FINISHED);
        assertThat(Files.isSymbolicLink(link)).as("trained here").isFalse();
    }

    @Test
    void aSideThatCannotTakeTheRatesIsRefusedBeforeAnyIsTrained() throws Exception {
        Path out = dir.resolve("out"), own = configuration("own", "mode: hypertransfer, rate: 0.05, proxy_rate: 0.5");
        assertThat(ht.refused("fair", muon, own, "--out", out))
                .contains("own cannot take the effective rates of muon: matrices.proxy_rate 0.5", "--schedule-of own");
        Path braked = configuration("braked", "mode: inverse-hypertransfer, rate: 0.05, policy: brake:0.5");
        assertThat(ht.refused("fair", muon, braked, "--out", out)).contains("rates of muon: matrices.policy brake:0.5");
        assertThat(out).doesNotExist();
        ht.fine("fair", muon, own, "--schedule-of own --out", out);
    }

    /** Also where both have one name, and a path has a space. */
    @Test
    void whatCompareSuggestsWorks() {
        Path fast = dir.resolve("a b/run"), slow = dir.resolve("c/run"), out = dir.resolve("out");
        ht.fine("train", muon, "--out", fast);
        ht.fine("train", adam, "--out", slow);
        assertThat(ht.fine("compare", fast, slow)).contains("with: ht fair " + slow + " '" + fast + "'\n");
        assertThat(ht.fine("fair", slow, fast, "--out", out)).contains("compared with c-run");
        assertThat(out.resolve("seed-1234/a b-run-fair")).isDirectory();
        assertThat(ht.refused("fair", slow, slow.resolve("."))).contains("two sides are called c-run");
    }

    /** There was no seed at all then. */
    @Test
    void theLargestSeedIsOne() {
        Path out = dir.resolve("out");
        ht.fine("fair", muon, adam, "--set seed=9223372036854775807 --seeds 2 --out", out);
        assertThat(out.resolve("seed-9223372036854775807")).isDirectory();
        assertThat(out.resolve("seed--9223372036854775808")).as("the next one").isDirectory();
    }

    /** The schedule of before was stretched over the steps of now. */
    @Test
    void ofARunThatWasContinuedTheWholeScheduleIsTaken() {
        Path first = dir.resolve("runs/muon"), second = dir.resolve("runs/adam");
        ht.fine("train", muon, "--out", first);
        ht.fine("train", adam, "--out", second);
        ht.fine("fair", first, second, "--out", dir.resolve("out"));
        ht.fine("train", first, "--set steps=14");
        ht.fine("train", second, "--set steps=14");
        Path longer = dir.resolve("longer");
        ht.fine("fair", first, second, "--out", longer);
        List<Line.Matrices> leader = lines(first), fair = lines(longer.resolve("seed-1234/adam-fair"));
        for (int t = 0; t < 14; t++) {
            assertThat(fair.get(t).effective()).containsExactly(leader.get(t).effective(), within(1e-12));
        }
    }
}
