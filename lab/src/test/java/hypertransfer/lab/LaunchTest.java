package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import hypertransfer.core.Refusal;
import hypertransfer.lab.experiment.Launch;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.RunLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How runs begin, and what is left of those that do not. */
class LaunchTest {
    @TempDir
    Path dir;

    private final Ht ht = new Ht();
    private Path file;
    private Path run;

    @BeforeEach
    void configuration() throws Exception {
        file = Files.writeString(dir.resolve("muon.yaml"), "network: M1\n");
        run = dir.resolve("run");
    }

    /** Was refused with the advice to do what was refused. */
    @Test
    void aDamagedStateIsWrittenAnew() throws Exception {
        ht.fine("train", file, "--out", run, Ht.TINY);
        Path state = run.resolve("state.json");
        String good = Files.readString(state);
        Files.writeString(state, good.substring(0, good.length() / 2));
        assertThat(ht.fine("runs", dir)).contains("unreadable");
        ht.fine("train", run);
        assertThat(state).hasContent(good);
    }

    /** Lines of the files were compared, so that only the first difference was named, if any. */
    @Test
    void everySettingThatDiffersIsNamed() throws Exception {
        ht.fine("train", file, "--out", run, Ht.TINY, Ht.set("matrices.groups.fc.rate=0.03 seed=5"));
        assertThat(ht.refused("train", file, "--out", run, Ht.TINY, Ht.set("matrices.decay=0.2")))
                .contains(
                        "seed was 5, is ",
                        "matrices.decay was 0.1, is 0.2",
                        "matrices.groups.fc.rate was 0.03, is null");
    }

    /** The version before had float32 masters, no grid and the mode's own rule by default. */
    @Test
    void anOlderRunKeepsItsOwnDefaults() {
        List<String> old = Ht.set("matrices.master=auto matrices.grid=0 matrices.gradient=mode");
        ht.fine("train", file, "--out", run, Ht.TINY, old);
        assertThat(ht.fine("train", file, "--out", run, Ht.TINY)).contains("is already finished");
        assertThat(ht.refused("train", file, "--out", run, Ht.TINY, "--set matrices.grid=8"))
                .contains("(matrices.grid was 0, is 8)");
    }

    /** A run that was stopped could not continue once its folder, and the schedule beside it, were moved. */
    @Test
    void aRecordedScheduleMayBeMoved() throws Exception {
        ht.fine("train", file, "--out", run, Ht.TINY);
        Path there = dir.resolve("there.json"), here = dir.resolve("a b/there.json");
        ht.fine("schedule", run, "--series effective --out", there);
        Path taking = dir.resolve("taking");
        ht.fine("train", file, "--out", taking, Ht.TINY, "--set matrices.mode=fair --set matrices.recorded=" + there);
        Files.createDirectories(here.getParent());
        String same = Files.readString(there);
        Files.writeString(here, same + " ");
        Configuration asked = ConfigurationFile.with(
                new Run(taking).configuration(), ConfigurationFile.text("matrices.recorded", here.toString()));
        assertThatThrownBy(() -> Launch.resumable(taking, asked))
                .hasMessageContaining("matrices.recorded was " + there + ", is " + here);
        Files.writeString(here, same);
        assertThat(Launch.resumable(taking, asked)).isEqualTo(asked);
        Files.delete(there);
        assertThat(Launch.resumable(taking, asked)).isEqualTo(asked);
    }

    /** The rate that had fallen to its end rose again, without a word. */
    @Test
    void moreStepsAreToldWithTheirRate() {
        ht.fine("train", file, "--out", run, Ht.TINY, "--set matrices.rate=0.03 --set matrices.warmup=0");
        String warning = "steps was 3, is 6: all schedules now end there, so the rate of hidden matrices goes from"
                + " 0.010000 at step 2 to 0.015000 at step 3; set matrices.rate and adamw.rate to continue at another,"
                + " or train all 6 steps anew with another --out";
        assertThat(ht.fine("train", run, "--set steps=6")).contains(warning);
        assertThat(ht.fine("train", run, "--set steps=6")).as("the same").doesNotContain("all schedules");
        String changed = "was changed at step 3: steps was 3, is 6";
        assertThat(ht.fine("transfer", run, "--mode hypertransfer")).contains(changed, "the gap will not be zero");
        assertThat(ht.fine("verify", run, "--from 0")).contains("steps 0 to 3: equal to the bit");
        assertThat(ht.fine("train", run, "--set log.matrices_every=2")).doesNotContain("all schedules");
        Path twin = Path.of(run + "-hypertransfer");
        for (Object[] words :
                new Object[][] {{"compare", run, twin}, {"runs", run}, {"predict", run}, {"rates", run, "--to muonh"}
                }) {
            ht.fine(words);
            assertThat(ht.err()).isEqualTo("warning: " + run + ": settings were changed on the way (changes.txt)\n");
        }
        ht.fine("report", run, "--out", dir.resolve("report.html"));
        assertThat(dir.resolve("report.html")).content().contains("settings were changed on the way (changes.txt)");
        Path flat = dir.resolve("flat");
        ht.fine("train", file, "--out", flat, Ht.TINY, "--set matrices.warmup=0 --set matrices.schedule=constant");
        assertThat(ht.fine("train", flat, "--set steps=6")).as("one rate").doesNotContain("all schedules");
    }

    /** A directory in state 'failed' was left, and stayed in the list of runs. */
    @Test
    void whatFailsBeforeTheFirstStepLeavesNothing() throws Exception {
        ht.refused("train", file, "--out", run, Ht.TINY, "--set data.train=" + dir.resolve("nowhere"));
        assertThat(run).doesNotExist();
        ht.fine("train", file, "--out", run, Ht.TINY);
        Path twin = dir.resolve("run-hypertransfer-at-2");
        assertThat(ht.refused("transfer", run, "--mode hypertransfer --at 2"))
                .contains("no checkpoint of step 2; it has those of [3]", "checkpoint.every and checkpoint.keep");
        assertThat(twin).doesNotExist();
        Path mine =
                Files.writeString(Files.createDirectories(dir.resolve("mine")).resolve("notes"), "keep");
        ht.refused("train", file, "--out", mine.getParent(), Ht.TINY, "--set data.train=" + dir.resolve("nowhere"));
        assertThat(mine).as("what was there").exists();
    }

    /** An import that came too late deleted the other's run. */
    @Test
    void whoDoesNotGetTheLockDeletesNothing() throws Exception {
        Configuration c = ConfigurationFile.read(file, List.of());
        ht.fine("train", file, "--out", run, Ht.TINY);
        assertThatThrownBy(() -> Launch.create(run, c, held -> {})).hasMessageContaining("already holds a run");
        assertThat(run.resolve("state.json")).exists();
        Path other = dir.resolve("other");
        try (RunLock held = RunLock.create(other, c)) {
            assertThatThrownBy(() -> Launch.create(other, c, mine -> {}))
                    .hasMessageContaining("another process is writing the run");
            held.check();
        }
        Path own = dir.resolve("own");
        assertThatThrownBy(() -> Launch.create(own, c, held -> {
                    throw new Refusal("no");
                }))
                .hasMessage("no");
        assertThat(own).doesNotExist();
        ht.fine("train", file, "--out", dir.resolve("a\nb"), Ht.TINY); // was told as a bug
    }

    /** All steps counted as compared, though the target had stopped at one of them. */
    @Test
    void aTargetThatStoppedIsNamedAtTheStart() throws Exception {
        ht.fine("train", file, "--out", run, Ht.TINY);
        Path metrics = run.resolve("metrics.jsonl"), state = run.resolve("state.json");
        Files.write(
                metrics,
                Files.readAllLines(metrics).stream()
                        .filter(line -> line.startsWith("{\"step\":0,"))
                        .toList());
        Files.writeString(
                state,
                Files.readString(state).replace("finished", "interrupted").replace("\"step\":3", "\"step\":1"));
        assertThat(ht.fine("transfer", run, "--mode hypertransfer"))
                .contains("warning: the target is interrupted at step 1 of 3: later steps have nothing to compare with")
                .contains("gap to the target: only one of 3 steps has a target, which is too few to compare");
    }

    /** The path was cut at ' #' by YAML: no gap, and no message; it was absolute, and "another configuration" was the answer. */
    @Test
    void aTargetMayHaveAnyName() throws Exception {
        Path odd = dir.resolve("run #2: \"x\"");
        ht.fine("train", file, "--out", odd, Ht.TINY);
        Path twin = dir.resolve("deeper/twin");
        assertThat(ht.fine("transfer", odd, "--mode hypertransfer --out", twin)).contains(" | gap ");
        assertThat(ht.fine("transfer", odd, "--mode hypertransfer --at 3 --out", dir.resolve("late")))
                .contains("continuing at step 3");
        Path moved = Files.createDirectories(dir.resolve("elsewhere"));
        Path target = Files.move(odd, moved.resolve(odd.getFileName()));
        Files.move(dir.resolve("deeper"), moved.resolve("deeper"));
        twin = moved.resolve("deeper/twin");
        assertThat(new Run(twin).target()).contains(new Run(target));
        ht.fine("transfer", target, "--mode hypertransfer --out", twin);
        assertThat(ht.fine("runs", moved)).containsPattern("twin +finished +3/3 .*e[-+]\\d\\d");
    }

    @ParameterizedTest
    @ValueSource(strings = {"data.train", "data.validation", "from.run", "target", "matrices.recorded"})
    void aNulInAPath(String key) {
        assertThat(ht.refused("train", file, "--out", run, Ht.TINY, "--set", key + "=\"a\\0b\""))
                .contains(key + " has a NUL character");
        assertThat(run).doesNotExist();
    }

    /** Said "unknown key 'title'; the nearest is 'data'". */
    @Test
    void anExperimentIsNotAConfiguration() throws Exception {
        Path experiment = Files.copy(Path.of("..", "runs", "exp1.yaml"), dir.resolve("exp1.yaml"));
        assertThat(ht.refused("train", experiment))
                .endsWith("exp1.yaml is an experiment; run it with: ht reproduce exp1");
        assertThat(ht.refused("train", "runs/nothing.yaml"))
                .contains("there is no file runs/nothing.yaml in " + Path.of("").toAbsolutePath());
    }

    /** Took 6 GB of heap and was still building after six minutes. */
    @Test
    void sizesAreCheckedBeforeAnythingIsBuilt() {
        assertThat(ht.refused("train", file, "--out", run, Ht.TINY, "--set model.layers=2147483647"))
                .contains("model.layers is 2147483647; it must be at most 10000");
        for (String engine : List.of("reference", "cpu")) {
            List<String> large = Ht.set("model.layers=9000 model.width=8192 engine=" + engine);
            assertThat(ht.refused("train", file, "--out", run, Ht.TINY, large))
                    .contains("the network has 7,24", "parameters, whose weights, gradients and momentum need")
                    .contains("GiB, and engine " + engine + " has ")
                    .contains("lower model.layers (9000) or model.width (8192)");
        }
        assertThat(run).doesNotExist();
    }
}
