package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.train.file.Atomic;
import hypertransfer.train.file.Folder;
import hypertransfer.train.log.Run;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class SweepTest {
    @TempDir
    Path dir;

    private final Ht ht = new Ht();
    private Path file;
    private Path to;
    private Object[] sweep;

    @BeforeEach
    void configuration() throws Exception {
        file = Files.writeString(dir.resolve("muon.yaml"), "network: M1\n");
        to = dir.resolve("sweep");
        sweep = new Object[] {"sweep", file, "--grid rate=0.01,0.02 --out", to, Ht.TINY};
    }

    private JsonNode results() {
        return JsonMapper.shared().readTree(to.resolve("sweep.json"));
    }

    @Test
    void theBestIsFoundAndADivergingPointIsAResult() {
        sweep = new Object[] {
            "sweep",
            file,
            "--grid rate=0.0001,0.02 --grid adam_rate=0.01,9.9 --out",
            to,
            Ht.TINY,
            Ht.set("stop_above=9 steps=10")
        };
        assertThat(ht.fine(sweep))
                .contains("diverged", "Infinity", "matrices.rate adamw.rate validation", "peak rate end/peak")
                .containsPattern("best \\d\\.\\d+ with matrices.rate=0.0[0-9]+ adamw.rate=0.01");
        assertThat(ht.out())
                .contains("point 1 of 4: matrices.rate=0.0001 adamw.rate=0.01\n")
                .containsPattern("point 4 of 4: .* adamw.rate=9.9; \\d+:\\d\\d left for these 4 runs\n")
                .doesNotContain("the first of"); // which engine it is stands in the line of each run
        assertThat(ht.out()).contains("the best lies on the edge of matrices.rate and adamw.rate: extend the grid");
        assertThat(results().path(1).path("validation").isNull()).isTrue();
        Object[] again = Arrays.copyOf(sweep, sweep.length + 1);
        again[sweep.length] = "--json";
        assertThat(ht.fine(again))
                .as("only the results")
                .isEqualToIgnoringNewLines(results().toString());
        assertThat(ht.err())
                .as("the second call trains nothing")
                .contains("best ", "point 2 of 4: matrices.rate=0.0001 adamw.rate=9.9; trained before")
                .doesNotContain("step 00001");
        assertThat(to.resolve("report.html")).isNotEmptyFile();
    }

    /** The checkpoints of a sweep take most of its space, and are deleted to keep its results. */
    @Test
    void finishedPointsNeedNoCheckpoints() throws Exception {
        String best = ht.fine(sweep)
                .lines()
                .filter(line -> line.startsWith("best "))
                .findFirst()
                .orElseThrow();
        String expected = results().toString();
        for (String point : List.of("matrices.rate=0.01", "matrices.rate=0.02")) {
            assertThat(to.resolve(point).resolve(Run.CHECKPOINTS)).isNotEmptyDirectory();
            Folder.delete(to.resolve(point).resolve(Run.CHECKPOINTS));
        }
        assertThat(ht.fine(sweep))
                .contains(best, "point 1 of 2: matrices.rate=0.01; trained before", "0.02; trained before")
                .doesNotContain("step 00001");
        assertThat(results()).hasToString(expected);
        assertThat(to.resolve("matrices.rate=0.01").resolve(Run.CHECKPOINTS)).doesNotExist();
    }

    /** Several workers on one directory: what one holds is left to it, and taken over when it is killed. */
    @Test
    void aPointThatAnotherProcessHoldsIsWaitedFor() throws Exception {
        Holder.of(to.resolve("matrices.rate=0.01")).killedAfter(to.resolve("matrices.rate=0.02"));
        assertThat(ht.fine(sweep)).contains("best ");
        assertThat(ht.out().indexOf("point 2 of 2"))
                .isNotNegative()
                .isLessThan(ht.out().indexOf("point 1 of 2"));
        assertThat(results()).hasSize(2);
        assertThat(results().path(0).path("matrices.rate").asDouble()).isEqualTo(0.01);
    }

    /** The best of what was trained was within the grid, because of a value that could not be trained. */
    @Test
    void aValueThatCannotBeTrainedIsNoEnd() {
        assertThat(ht.refused("sweep", file, "--grid rate=0.01,0.02,-1 --grid decay=0.1,-1 --out", to, Ht.TINY))
                .contains("is -1");
        assertThat(ht.fine("sweep", file, "--grid rate=0.01,0.02 --grid decay=0.1 --out", to, Ht.TINY))
                .contains("the best lies on the edge of matrices.rate: extend the grid");
    }

    /**
     * Their runs were points of one sweep, and the longer ones the best. More points of the same were all that the results
     * had, and the best of them was at an end of the grid.
     */
    @Test
    void anotherSweepIsNotMixedIn() {
        ht.fine(sweep);
        assertThat(ht.fine("sweep", file, "--grid rate=0.04,0.005 --out", to, Ht.TINY)) // more points of the same
                .contains("point 1 of 4: matrices.rate=0.01; trained before", "point 4 of 4: matrices.rate=0.005");
        assertThat(results().findValuesAsString("matrices.rate")).containsExactly("0.01", "0.02", "0.04", "0.005");
        assertThat(to.resolve("report.html")).content().contains("matrices.rate=0.02", "matrices.rate=0.04");
        ht.fine("sweep", file, "--grid rate=0.08 --out", to, Ht.TINY, "--set matrices.decay=0.2");
        assertThat(results()).hasSize(1);
        assertThat(ht.refused("sweep", file, "--grid rate=0.08 --out", to, Ht.TINY, "--set steps=7"))
                .contains("has another sweep: steps is ", " in matrices.rate=0.08, and 7 here; choose another --out");
    }

    /** The point of another grid that has the same settings was a second row of the table. */
    @Test
    void aPointOfTwoGridsIsOne() {
        ht.fine("sweep", file, "--grid rate=0.01,0.02 --out", to, Ht.TINY);
        ht.fine("sweep", file, "--grid direction=muon,lion --out", to, Ht.TINY, "--set matrices.rate=0.02");
        assertThat(results().findValuesAsString("matrices.direction")).containsExactly("muon", "lion");
    }

    /** Failed with a NumberFormatException after all training, and left no result. */
    @Test
    void wordsAreValuesToo() {
        String grid = "--grid matrices.schedule=linear,cosine --grid matrices.nesterov=true,false --grid rate=0.01";
        assertThat(ht.fine("sweep", file, grid, "--out", to, Ht.TINY)).contains("best ", "with matrices.schedule=");
        assertThat(results()).hasSize(4);
        JsonNode last = results().path(3);
        assertThat(last.path("matrices.schedule").asString()).isEqualTo("cosine");
        assertThat(last.path("matrices.nesterov").isBoolean()).isTrue();
        assertThat(last.path("matrices.rate").asDouble()).isEqualTo(0.01);
    }

    /** Was counted as divergence for ever, with exit code 0 and "best Infinity". */
    @Test
    void whatIsMissingIsTriedAgain() throws Exception {
        Path data = dir.resolve("data");
        sweep = new Object[] {sweep[0], file, sweep[2], to, Ht.TINY, "--set data.train=" + data};
        assertThat(ht.refused(sweep)).contains(data.toString());
        assertThat(to.resolve("sweep.json")).doesNotExist();

        Path text = Files.writeString(dir.resolve("text.txt"), "Fellow citizens, <|endoftext|>\n".repeat(400));
        ht.fine("data", "tokenize", text, "--out", data, "--tokens bytes");
        assertThat(ht.fine(sweep)).containsPattern("best \\d\\.\\d+ with matrices.rate=");
    }

    /** A full disk is no divergence either: the state says which of the two it was. */
    @Test
    void onlyTheKindOfFailureDecides() throws Exception {
        ht.fine(sweep);
        String expected = results().toString();
        Path state = to.resolve("matrices.rate=0.01/state.json");
        String finished = Files.readString(state);
        Files.writeString(state, finished.replace("finished", "failed"));
        ht.fine(sweep);
        assertThat(results()).hasToString(expected);

        Files.writeString(state, finished.replace("\"finished\"", "\"failed\",\"kind\":\"diverged\""));
        assertThat(ht.fine(sweep)).contains("best ", "with matrices.rate=0.02");
    }

    /** Was the best, with a loss of 0.00000. */
    @Test
    void aLossThatIsNoNumberIsNotTheBest() throws Exception {
        ht.fine(sweep);
        for (String point : new String[] {"0.01", "0.02"}) {
            Path state = to.resolve("matrices.rate=" + point + "/state.json");
            Files.writeString(
                    state, Files.readString(state).replaceAll("\"validation\":[0-9.]+", "\"validation\":null"));
            int exit = ht.run(sweep);
            if (point.equals("0.01")) {
                assertThat(exit).isZero();
                assertThat(ht.out()).contains("with matrices.rate=0.02");
            } else {
                assertThat(exit).as("no finite point").isEqualTo(1);
                assertThat(ht.out()).contains("no best").doesNotContain("best Infinity");
            }
        }
    }

    @Test
    void aGridThatIsNone() {
        for (String grid : new String[] {"rate", "rate=", "rate=,", "=1", "rate=1,,2", "rate= , "}) {
            assertThat(ht.refused("sweep", file, "--grid", grid)).contains("--grid is '" + grid + "'; it must be KEY=");
        }
        assertThat(ht.refused("sweep", file, "--grid rate=1,1")).contains("has a value twice");
        assertThat(ht.refused("sweep", file, "--grid rate=1 --grid matrices.rate=2"))
                .contains("has a key twice");
        assertThat(ht.refused("sweep", file, "--grid data.train=a/b,a-b")).contains("both be written to");
        assertThat(ht.refused("sweep", "/", "--grid rate=1")).contains("/ is not a file; give a configuration");
        assertThat(ht.refused("sweep", file, "--grid rate=1 --out", "")).contains("option '--out': ''");
        assertThat(ht.refused("sweep", file, "--grid rate=1 --out /")).contains("--out is '/'");
    }

    /** Two processes that share a sweep and end at the same time: one was refused, although all of its work was done. */
    @Test
    void aPageThatAnotherProcessWritesIsWrittenAfterIt() {
        ht.fine(sweep);
        for (String name : List.of("sweep.json", "report.html")) {
            List<CompletableFuture<Integer>> second = new ArrayList<>();
            Atomic.write(to.resolve(name), channel -> {
                second.add(CompletableFuture.supplyAsync(() -> ht.run(sweep)));
                try { // refused, it would end before this
                    second.getFirst().get(1, TimeUnit.SECONDS);
                } catch (TimeoutException expected) {
                    Atomic.writeFully(channel, ByteBuffer.wrap("of the first".getBytes()));
                } catch (InterruptedException | ExecutionException e) {
                    throw new AssertionError(e);
                }
            });
            assertThat(second.getFirst().join()).as(ht::err).isZero();
            assertThat(to.resolve(name)).content().startsWith(name.equals("sweep.json") ? "[" : "<!doctype");
        }
    }
}
