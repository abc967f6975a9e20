package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A stored run is trained again in part, and is never touched. */
class VerifyTest {
    @TempDir
    Path dir;

    private final Ht ht = new Ht();
    private Path run;

    @BeforeEach
    void train() throws Exception {
        String clip = "clip: {norm: 0.1}", checkpoint = "checkpoint: {every: 4, keep: 9}";
        Path file = Ht.tiny(dir, "tiny", "steps: 12", "matrices: {mode: hypertransfer}", clip, checkpoint);
        run = dir.resolve("run");
        ht.fine("train", file, "--out", run);
    }

    private Map<String, String> contents() throws Exception {
        Map<String, String> contents = new TreeMap<>();
        try (Stream<Path> files = Files.walk(run)) {
            for (Path path : files.filter(Files::isRegularFile).toList()) {
                contents.put(path.toString(), Files.getLastModifiedTime(path) + " " + Files.size(path));
            }
        }
        return contents;
    }

    private String differs(Object... args) {
        assertThat(ht.run(args)).isEqualTo(1);
        return ht.out();
    }

    @Test
    void everySpanIsEqualToTheBit() throws Exception {
        Map<String, String> before = contents();
        // 12 steps end with a checkpoint, behind which there is nothing: the one before it is taken
        assertThat(ht.fine("verify", run)).contains("steps 8 to 12: equal to the bit", "and the weights at step 12");
        assertThat(ht.fine("verify", run, "--from 0 --steps 3")).contains("steps 0 to 3: equal to the bit (");
        assertThat(ht.out()).doesNotContain("the weights at step 3");
        assertThat(ht.fine("verify", run, "--from 4 --steps 4 --json"))
                .contains("\"from\":4,\"to\":8,", "\"weights\":true", "\"differences\":[]");
        assertThat(contents()).isEqualTo(before);
    }

    @Test
    void aChangedNumberIsFound() throws Exception {
        Path metrics = run.resolve("metrics.jsonl");
        String text = Files.readString(metrics);
        Files.writeString(metrics, text.replaceFirst("(\"step\":9,\"loss\":\\d\\.\\d{5})\\d", "$19"));
        assertThat(differs("verify", run))
                .contains("steps 8 to 12: 1 of ", " lines differ", "step 9, training loss: ", " in the run, ")
                .contains("program, machine and engine are as they were: these numbers should be the same");
    }

    @Test
    void whatIsNotAsItWasIsNamed() throws Exception {
        Path provenance = run.resolve("provenance.json");
        Files.writeString(provenance, Files.readString(provenance).replaceFirst("\"jdk\":\"", "\"jdk\":\"old "));
        assertThat(ht.fine("verify", run)).contains("equal to the bit").containsPattern("jdk was old .*, is ");
        assertThat(differs("verify", run, "--set engine=cpu"))
                .contains("engine was reference, is cpu: bits may differ by this", "lines differ");
    }

    /** It was refused at the step of the change, and before it. */
    @Test
    void aRunThatWasExtendedIsVerifiedOnBothSidesOfTheChange() throws Exception {
        ht.fine("train", run, "--set steps=16 --set matrices.rate=0.03");
        ht.fine("train", run, "--set steps=20 --set adamw.head_rate=0.04");
        assertThat(Files.readString(run.resolve("changes.txt"))).startsWith("step 12: ");
        assertThat(ht.fine("verify", run)).contains("steps 16 to 20: equal to the bit");
        assertThat(ht.fine("verify", run, "--from 12")).contains("steps 12 to 16: equal to the bit");
        assertThat(ht.fine("verify", run, "--from 8")).contains("steps 8 to 12: equal to the bit");
        assertThat(ht.fine("verify", run, "--from 0 --steps 20"))
                .contains("steps 0 to 12: equal to the bit", "; 12 steps of 16 tokens")
                .contains("settings were changed at step 12 (changes.txt); the steps after it: ht verify " + run
                        + " --from 12");
    }

    /** It was said that these numbers should be the same. */
    @Test
    void whatCannotBeSetBackIsNamed() {
        ht.fine("train", run, "--set steps=16 --set matrices.groups.fc|o.rate=0.01");
        assertThat(ht.refused("verify", run, "--from 0"))
                .contains("was changed at step 12 (matrices.groups.fc|o.rate was null, is 0.01), which cannot be set"
                        + " back; name --from 12 or a later step");
        assertThat(ht.fine("verify", run, "--from 12")).contains("steps 12 to 16: equal to the bit");
    }

    @Test
    void theEngineThatIsAskedForIsNotSetBack() {
        ht.fine("train", run, "--set steps=16 --set engine=cpu");
        assertThat(ht.fine("verify", run, "--from 8"))
                .contains("steps 8 to 12: equal to the bit")
                .doesNotContain(" was ");
        assertThat(differs("verify", run, "--from 8 --set engine=cpu")).contains("steps 8 to 12: ", " lines differ");
    }

    /** The change of a step that was trained again was set back, too. */
    @Test
    void aRunThatWasWoundBackIsVerifiedWithTheChangesThatHold() throws Exception {
        ht.fine("train", run, "--set steps=16 --set matrices.rate=0.03");
        for (String step : List.of("12", "16")) {
            Files.delete(run.resolve("checkpoints/step-000000" + step + ".json"));
        }
        ht.fine("train", run, "--set steps=16 --set matrices.rate=0.05");
        assertThat(Files.readString(run.resolve("changes.txt")))
                .startsWith("step 8: ")
                .hasLineCount(1);
        assertThat(ht.fine("verify", run, "--from 8")).contains("steps 8 to 16: equal to the bit");
    }

    @Test
    void aRunWithoutCheckpointsIsTakenUpAtItsStart() throws Exception {
        try (Stream<Path> files = Files.list(run.resolve("checkpoints"))) {
            for (Path file : files.toList()) {
                Files.delete(file);
            }
        }
        assertThat(ht.fine("verify", run, "--steps 5")).contains("steps 0 to 5: equal to the bit");
    }

    /** The sentence named a file of the temporary folder, and advised to train the run again. */
    @Test
    void aDamagedCheckpoint() throws Exception {
        Path damaged = run.resolve("checkpoints/step-00000008.safetensors");
        Files.writeString(damaged, "x");
        assertThat(ht.refused("verify", run))
                .contains(run
                        + "/checkpoints/step-00000008.json or its tensors are damaged; name another step with --from");
        assertThat(ht.fine("verify", run, "--from 4")).contains("equal to the bit");
    }

    @Test
    void refusals() {
        assertThat(ht.refused("verify", run, "--from 5"))
                .contains("--from is 5;", "can be trained again from step 0, 4, 8");
        assertThat(ht.refused("verify", run, "--from 12")).contains("can be trained again from step 0, 4, 8");
        assertThat(ht.refused("verify", run, "--steps 0")).contains("--steps is 0; it must be one or more");
        assertThat(ht.refused("verify", run, "--set matrices.rate=1")).contains("only engine can be set here");
        assertThat(ht.refused("verify", dir)).contains("is not a run");
    }
}
