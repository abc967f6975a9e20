package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.train.file.Folder;
import hypertransfer.train.log.Run;
import hypertransfer.train.run.Checkpoint;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Real processes that are killed or interrupted, and runs without disk; all end where an undisturbed one does. */
@EnabledOnOs({OS.LINUX, OS.MAC})
class FaultTest {
    private static final int KILLS = Boolean.getBoolean("ht.slow") ? 50 : 2;

    private static final Map<String, List<Object>> UNDISTURBED = new HashMap<>();

    @TempDir
    Path dir;

    private Path run;
    private final Ht ht = new Ht();

    @BeforeEach
    void path() {
        run = dir.resolve("run");
    }

    private List<String> train(Path to, int steps, int every, String... more) {
        String sizes = "model.width=8 model.head=4 model.sequence=8 model.batch=1";
        List<String> line = List.of("train", "../runs/muon.yaml", "--out", to.toString());
        List<String> set = Ht.set(sizes, "steps=" + steps, "checkpoint.every=" + every);
        return Stream.of(line, Ht.TINY, set, Ht.set(more)).flatMap(List::stream).toList();
    }

    /** What such a run leaves when nothing happens to it: trained once for all tests. */
    private List<Object> undisturbed(int steps, int every) throws Exception {
        String key = steps + " " + every;
        if (!UNDISTURBED.containsKey(key)) {
            Path other = dir.resolve("undisturbed");
            ht.fine(train(other, steps, every));
            UNDISTURBED.put(key, result(other));
        }
        return UNDISTURBED.get(key);
    }

    /** Everything that two equal runs have in common. */
    static List<Object> result(Path run) throws Exception {
        List<Object> all = new ArrayList<>();
        for (String line : Files.readAllLines(run.resolve(Run.METRICS))) {
            all.add(line.replaceFirst(",\"seconds\":[^,}]*", ""));
        }
        all.addAll(Files.readAllLines(run.resolve(Run.MATRICES)));
        Path newest = new Run(run).checkpoints().getFirst();
        all.add(Files.readString(newest));
        Path tensors = Path.of(newest.toString().replace(".json", ".safetensors"));
        all.add(ByteBuffer.wrap(Files.readAllBytes(tensors)));
        return all;
    }

    private String state() {
        return new Run(run).status().state().label();
    }

    @Test
    void killedAtRandomMoments() throws Exception {
        int steps = 8 * KILLS + 16;
        List<Object> expected = undisturbed(steps, 1); // a checkpoint every step: most moments are in a save
        Random random = new Random(Long.getLong("ht.seed", 17));
        for (int kill = 0, late = 0; kill < KILLS; kill++) {
            try (Child child = Child.start(train(run, steps, 1))) {
                boolean early = kill % 5 == 1; // while it starts, reads its checkpoint and cuts its lines
                assertThat(child.steps(early ? 0 : 1 + random.nextInt(5)))
                        .as("still running")
                        .isTrue();
                Thread.sleep(random.nextInt(early ? 1000 : 25));
                child.signal("KILL");
                int exit = child.end();
                if (exit == 0 && late++ < 20) { // other work of the machine made it too late: once more
                    Folder.delete(run);
                    kill--;
                    continue;
                }
                assertThat(exit).isEqualTo(137);
            }
            assertThat(state()).isEqualTo("killed");
        }
        assertThat(ht.fine("runs", dir)).containsPattern("run +killed");
        ht.fine(train(run, steps, 1));
        assertThat(result(run)).isEqualTo(expected);
    }

    /** Each of the three signals: one that is not handled would end the process before it has saved. */
    @Test
    void interrupted() throws Exception {
        List<Object> expected = undisturbed(200, 100);
        try (Child child = Child.start(train(run, 200, 100))) {
            assertThat(child.steps(3)).isTrue();
            child.signal("STOP"); // or it is finished before this process has asked what it wants to know
            assertThat(ht.refused("train", run)).contains("another process is writing the run");
            assertThat(ht.fine("runs", dir)).containsPattern("run +running");
            // some twice, as timeout(1) does: it was taken for the second Ctrl-C, and nothing was saved
            child.signal("CONT", "HUP", "TERM", "TERM", "INT");
            assertThat(child.says("run the same command again to continue, or: ht train " + run))
                    .as("what next")
                    .isTrue();
            assertThat(child.end()).isEqualTo(130);
            assertThat(child.errors()).containsExactly("ht: saving, then stopping (Ctrl-C again stops immediately)");
        }
        assertThat(state()).isEqualTo("interrupted");
        ht.fine("train", run);
        assertThat(result(run)).isEqualTo(expected);
    }

    /** Was told to save, and built on for minutes. */
    @Test
    void interruptedWhileTheNetworkIsBuilt() throws Exception {
        try (Child child = Child.start(train(run, 4, 1, "model.layers=5000"))) {
            for (int i = 0; i < 600 && Files.notExists(run.resolve(Run.CONFIGURATION)); i++) {
                Thread.sleep(50);
            }
            child.signal("INT");
            assertThat(child.end()).isEqualTo(130);
            assertThat(child.errors()).containsExactly("ht: stopped");
        }
        assertThat(run.resolve(Run.METRICS)).doesNotExist();
    }

    /** Where a step of the optimizer is met, which takes seconds and is not given up: other work may need another attempt. */
    @Test
    void theSecondInterruptEndsAtOnce() throws Exception {
        for (int attempt = 0; attempt == 0 || Files.exists(run.resolve(Run.CHECKPOINTS)); attempt++) {
            assertThat(attempt).as("attempts that were given the time to save").isLessThan(10);
            if (attempt > 0) {
                Folder.delete(run);
            }
            try (Child child = Child.start(train(run, 4, 1, "model.width=256"))) {
                assertThat(child.says("validation")).as("about to begin").isTrue();
                Thread.sleep(1000 + 500 * attempt);
                child.signal("INT");
                while (child.errors().isEmpty()) {
                    Thread.sleep(5);
                }
                while (!child.endsWithin(100)) {
                    child.signal("INT");
                }
                assertThat(child.end()).isEqualTo(130);
            }
        }
        assertThat(state()).isIn("killed", "not begun");
    }

    /** Of the first only logs do not fit, of the second not even a checkpoint. */
    @ParameterizedTest
    @CsvSource({"160, 140, 20, run/", "64, 12, 5, step-00000005.safetensors"})
    void aFullDisk(int kilobytes, int steps, int every, String what) throws Throwable {
        List<Object> expected = undisturbed(steps, every);
        NoRoomTest.limit(1024L * kilobytes);
        try {
            assertThat(ht.run(train(run, steps, every))).isEqualTo(4);
        } finally {
            NoRoomTest.limit(-1);
        }
        assertThat(ht.err().lines())
                .singleElement()
                .asString()
                .startsWith("ht: cannot write " + run)
                .contains(what)
                .endsWith("; make room, then run the same command again to continue");
        assertThat(state()).isEqualTo("failed");
        assertThat(new Run(run).checkpoints()).allSatisfy(Checkpoint::read);
        assertThat(new Run(run).checkpoints().isEmpty()).isEqualTo(what.startsWith("step-"));
        ht.fine("train", run);
        assertThat(result(run)).isEqualTo(expected);
    }

    /** A disk that fails at the flush of a folder is told; a file system that cannot flush folders at all is not a failure. */
    @Test
    void aFolderThatCannotBeFlushed() throws Exception {
        List<Object> expected = undisturbed(12, 5);
        Ht bent = new Ht(new Shim());
        Disk.breaks("Invalid argument");
        bent.fine(train(dir.resolve("other"), 12, 5));
        Disk.breaks("Input/output error");
        assertThat(bent.run(train(run, 12, 5))).isEqualTo(6);
        assertThat(bent.err().lines())
                .singleElement()
                .asString()
                .startsWith("ht: cannot flush " + run)
                .contains("Input/output error");
        Disk.reset();
        bent.fine(train(run, 12, 5));
        assertThat(result(run)).isEqualTo(expected);
    }
}
