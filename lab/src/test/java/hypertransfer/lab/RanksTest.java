package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hypertransfer.train.log.Run;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code ht train} as several processes under mpirun, over the loopback; skipped where there is no mpirun. */
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
        List<String> command =
                new ArrayList<>(List.of(("mpirun --allow-run-as-root --oversubscribe --bind-to none --mca pml ob1"
                                + " --mca btl self,vader,tcp --mca btl_tcp_if_include lo -n " + ranks)
                        .split(" ")));
        command.addAll(Child.java());
        command.add("train");
        command.addAll(List.of(arguments));
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

        Files.delete(directory.resolve("many/state.json"));
        for (String end : List.of("json", "safetensors")) { // as if it had been killed after the first checkpoint
            Files.delete(directory.resolve("many/checkpoints/step-00000006." + end));
        }
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
        assertThat(rank(killed, 1).destroyForcibly()).isTrue();
        assertThat(end(killed)).isNotZero();
        assertThat(Files.readString(output())).contains("rank 1").contains("signal 9");

        Process asked = start(2, directory.resolve("long").toString());
        long before = newest("long");
        while (newest("long") <= before && asked.isAlive()) {
            Thread.sleep(50);
        }
        assertThat(rank(asked, 1).destroy()).isTrue(); // SIGTERM, to one of them
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

    /** The process of a rank: mpirun starts them in their order. */
    private static ProcessHandle rank(Process mpirun, int rank) {
        return mpirun.children()
                .sorted((a, b) -> Long.compare(a.pid(), b.pid()))
                .toList()
                .get(rank);
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
