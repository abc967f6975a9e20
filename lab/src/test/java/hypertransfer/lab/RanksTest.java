package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hypertransfer.train.log.Run;
import hypertransfer.train.run.Checkpoint;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Commands as several processes under mpirun, over the loopback; skipped where there is no mpirun. */
class RanksTest {
    @TempDir
    private Path directory;

    private final Ht ht = new Ht();

    @BeforeAll
    static void mpirun() {
        assumeTrue(
                Arrays.stream(System.getenv("PATH").split(":"))
                        .anyMatch(folder -> Files.isExecutable(Path.of(folder, "mpirun"))),
                "no mpirun: install openmpi-bin to train on several ranks");
    }

    private Process start(int ranks, String... arguments) throws Exception {
        return start("", ranks, Stream.concat(Stream.of("train"), Stream.of(arguments)));
    }

    /** @param before what the shell of every rank does before */
    private Process start(String before, int ranks, Stream<String> arguments) throws Exception {
        List<String> command =
                new ArrayList<>(List.of(("mpirun --allow-run-as-root --oversubscribe --bind-to none --mca pml ob1"
                                + " --mca btl self,vader,tcp --mca btl_tcp_if_include lo -n " + ranks)
                        .split(" ")));
        command.addAll(List.of("sh", "-c", before + " exec \"$@\"", "sh"));
        command.addAll(Child.java());
        command.addAll(arguments.toList());
        return new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output().toFile())
                .start();
    }

    private Path output() {
        return directory.resolve("output.txt");
    }

    private int end(Process process) throws Exception {
        if (!process.waitFor(10, TimeUnit.MINUTES)) {
            process.destroy(); // mpirun ends its ranks
            throw new IllegalStateException("hangs: " + Files.readString(output()));
        }
        return process.exitValue();
    }

    private String[] tiny(String out, String... settings) {
        List<String> arguments = new ArrayList<>(List.of("../runs/muon.yaml", "--out", "" + directory.resolve(out)));
        arguments.addAll(Ht.TINY);
        arguments.addAll(Ht.set("steps=6 model.batch=1 model.accumulation=4 validation.batches=3 validation.every=3"));
        arguments.addAll(Ht.set("checkpoint.every=3"));
        arguments.addAll(Ht.set(settings));
        return arguments.toArray(String[]::new);
    }

    private void forget(String run, int... steps) throws Exception {
        Files.delete(directory.resolve(run).resolve("state.json"));
        for (int step : steps) {
            for (String end : List.of("json", "safetensors")) {
                Files.deleteIfExists(directory.resolve(run + "/checkpoints/step-%08d.%s".formatted(step, end)));
            }
        }
    }

    /** Everything that two equal runs have in common. */
    private List<Object> result(String run) throws Exception {
        List<Object> all = FaultTest.result(directory.resolve(run));
        for (String file : List.of("config.yaml", "checkpoints/step-00000003.json", "checkpoints/step-00000006.json")) {
            all.add(Files.readString(directory.resolve(run).resolve(file)));
        }
        return all;
    }

    @Test
    void theSameBitsAndAResumeOnAnotherNumber() throws Exception {
        ht.fine("train", List.of(tiny("one")));
        boolean slow = Boolean.getBoolean("ht.slow");
        int ranks = slow ? 4 : 2;
        assertThat(end(start(ranks, tiny("many"))))
                .as(Files.readString(output()))
                .isZero();
        assertThat(Files.readString(output()))
                .containsPattern("Open MPI .*, " + ranks + " ranks: the busiest has 1." + (slow ? 2 : 0) + "0 times");
        assertThat(result("many")).isEqualTo(result("one"));

        forget("many", 6); // as if it had been killed after the first checkpoint
        String many = directory.resolve("many").toString();
        if (slow) {
            assertThat(end(start(2, many))).as(Files.readString(output())).isZero();
            assertThat(Files.readString(output())).contains("continuing at step 3");
        } else {
            assertThat(ht.fine("train", many)).contains("continuing at step 3");
        }
        assertThat(result("many")).isEqualTo(result("one"));
    }

    @Test
    void aKilledRankEndsAllAndASignalSavesAll() throws Exception {
        Process killed = start(2, tiny("long", "steps=100000", "checkpoint.every=5"));
        awaitCheckpoint("long");
        assertThat(rank(killed, 1).orElseThrow().destroyForcibly()).isTrue();
        assertThat(end(killed)).isNotZero();
        assertThat(Files.readString(output())).contains("rank 1").contains("signal 9");

        Process asked = start(2, directory.resolve("long").toString());
        long before = newest("long");
        while (newest("long") <= before && asked.isAlive()) {
            Thread.sleep(50);
        }
        assertThat(rank(asked, 1).orElseThrow().destroy()).isTrue(); // SIGTERM, to one of them
        assertThat(end(asked)).as(Files.readString(output())).isEqualTo(130);
        assertThat(Files.readString(directory.resolve("long/state.json"))).contains("interrupted");
    }

    private void awaitCheckpoint(String run) throws Exception {
        for (int tries = 0; tries < 12_000 && newest(run) < 0; tries++) {
            Thread.sleep(50);
        }
        assertThat(newest(run)).as(Files.readString(output())).isPositive();
    }

    private long newest(String run) {
        return new Run(directory.resolve(run))
                .checkpoints().stream().mapToLong(Run::step).max().orElse(-1);
    }

    /** The process of a rank, if mpirun has not ended; it starts them in their order. */
    private static Optional<ProcessHandle> rank(Process mpirun, int rank) {
        return mpirun.children()
                .sorted((a, b) -> Long.compare(a.pid(), b.pid()))
                .skip(rank)
                .findFirst();
    }

    /** The disk of rank 0, which writes the run's files, and of a rank which has no place for its copy of the decisions. */
    @ParameterizedTest
    @CsvSource({
        "0, ulimit -f 140, cannot write , File too large; make room; then run the same command again to continue, 4",
        "1, JDK_JAVA_OPTIONS=-Djava.io.tmpdir=/nowhere; export JDK_JAVA_OPTIONS, cannot copy , there is no such file or"
                + " directory; run the same command again to continue, 6"
    })
    void theFullDiskOfOneRankEndsAllAndNothingIsLost(int rank, String full, String what, String why, int exit)
            throws Exception {
        String small =
                "steps=56 checkpoint.every=8 checkpoint.keep=9 model.width=4 model.head=4"; // 70 kB after 36 steps
        String[] train = tiny("full", small);
        String at = "if [ \"$OMPI_COMM_WORLD_RANK\" = " + rank + " ]; then " + full + "; fi;";
        if (rank > 0) { // it fails where a run begins or continues: so it is given one that has begun
            ht.fine("train", List.of(train));
            forget("full", 40, 48, 56);
        }
        assertThat(end(start(at, 2, Stream.concat(Stream.of("train"), Stream.of(train)))))
                .as(Files.readString(output()))
                .isEqualTo(exit);
        assertThat(Files.readString(output()))
                .containsOnlyOnce("ht: " + what)
                .contains(why.replace("room;", "room,"))
                .doesNotContain("this is a bug");
        assertThat(new Run(directory.resolve("full")).checkpoints()).allSatisfy(Checkpoint::read);
        long there = newest("full");
        assertThat(end(start(2, train))).as(Files.readString(output())).isZero();
        assertThat(Files.readString(output())).contains("continuing at step " + there);
        ht.fine("train", List.of(tiny("one", small)));
        assertThat(FaultTest.result(directory.resolve("full"))).isEqualTo(FaultTest.result(directory.resolve("one")));
    }

    /** Reproduce: processes that share the runs. Transfer: ranks of one run. All killed, given again, killed and so on. */
    @ParameterizedTest
    @ValueSource(strings = {"reproduce", "transfer"})
    void killedAndGivenAgain(String command) throws Exception {
        boolean one = command.equals("transfer"), slow = Boolean.getBoolean("ht.slow");
        int steps = slow ? 60 : 30;
        Path made = directory.resolve("made"), target = directory.resolve("target");
        if (one) {
            ht.fine("train", List.of(tiny("target", "steps=" + steps, "checkpoint.every=1")));
        }
        Files.writeString(directory.resolve("experiment.yaml"), """
                title: A small one
                settings: [engine=reference, model.layers=1, model.width=8, model.head=4, model.sequence=8, model.batch=1]
                runs:
                  muon: {settings: [matrices.mode=base]}
                  muonh: {settings: [matrices.mode=hyperball]}
                  twin: {follows: muon, settings: [matrices.mode=hypertransfer]}
                presets:
                  demo: {settings: [steps=%d, checkpoint.every=1, validation.batches=1, matrices.rate=0.02]}
                """.formatted(steps));
        List<String> line = one
                ? List.of("transfer", target + "", "--mode", "hypertransfer", "--out")
                : List.of("reproduce", directory.resolve("experiment.yaml") + "", "--out");
        ht.fine(line, directory.resolve("undisturbed"));
        Random random = new Random(Long.getLong("ht.seed", 17));
        int killed = 0;
        for (int kill = 0; kill < (slow ? 20 : 2); kill++) {
            Process all = start("", 2, Stream.concat(line.stream(), Stream.of(made + "")));
            long enough = checkpoints(made) + 1 + random.nextInt(5);
            for (int tries = 0; tries < 12_000 && checkpoints(made) < enough && all.isAlive(); tries++) {
                Thread.sleep(5);
            }
            Thread.sleep(random.nextInt(20));
            if (kill % 2 == 0) {
                rank(all, random.nextInt(2)).ifPresent(ProcessHandle::destroyForcibly); // mpirun ends the other
            } else {
                all.descendants().toList().forEach(ProcessHandle::destroyForcibly);
            }
            killed += end(all) == 0 ? 0 : 1; // 0 where the machine's other work made it too late
        }
        assertThat(killed).isPositive();
        assertThat(end(start("", 2, Stream.concat(line.stream(), Stream.of(made + "")))))
                .as(Files.readString(output()))
                .isZero();
        for (String run : one ? List.of("") : List.of("muon", "muonh", "twin")) {
            assertThat(FaultTest.result(made.resolve(run)))
                    .isEqualTo(FaultTest.result(directory.resolve("undisturbed").resolve(run)));
        }
    }

    /** How many steps all runs together have taken and saved. */
    private static long checkpoints(Path made) {
        return Stream.of("", "muon", "muonh", "twin")
                .mapToLong(run -> new Run(made.resolve(run))
                        .checkpoints().stream().mapToLong(Run::step).max().orElse(0))
                .sum();
    }

    @Test
    void whatCannotBeSharedIsRefusedInOneSentence() throws Exception {
        assertThat(end(start(2, tiny("none", "model.accumulation=3")))).isEqualTo(2);
        assertThat(Files.readString(output()))
                .containsOnlyOnce(
                        "ht: a step has 3 micro-batches (model.accumulation), which 2 ranks cannot share evenly;"
                                + " start 1, 3 ranks, or set model.accumulation to a multiple of 2");
    }
}
