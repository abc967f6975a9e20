package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.train.file.SafeTensors;
import hypertransfer.train.log.Gap;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.Run.Curves;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;

/** The commands around a run, one after the other as a person uses them. */
class RunCommandsTest {
    @TempDir
    Path dir;

    private Path file;
    private final Ht ht = new Ht();

    @BeforeEach
    void configuration() throws Exception {
        file = Ht.tiny(dir, "tiny", "steps: 12", "matrices: {rate: 0.02}", "checkpoint: {every: 4, keep: 9}");
    }

    private Path train(String name, String... settings) {
        Path run = dir.resolve(name);
        ht.fine("train", file, "--out", run, Ht.set(settings));
        return run;
    }

    /** The largest of the training losses. */
    private double gap(String run, Path target) {
        return Gap.of(dir.resolve(run), target).training().largest();
    }

    @Test
    void trainingShowsWhatItDoes() throws Exception {
        Path run = train("run");
        assertThat(ht.out())
                .contains(
                        "M1, ", " without the head) on engine reference; 12 steps of 16 tokens", "routing", "Muon 0.95")
                .contains(
                        "step 00012/00012 (100.00%) | validation ", " | loss ", " | tok/s ", " | eta 0:00 | q turns ");
        assertThat(ht.out()).contains("next: ht report " + run, "ht sample", "--mode hypertransfer");
        String state = Files.readString(run.resolve("state.json"));
        for (Object[] again : new Object[][] {{"train", file, "--out", run}, {"train", run}}) {
            assertThat(ht.fine(again))
                    .startsWith(run + " is already finished; to train it again, choose another --out");
        }
        assertThat(run.resolve("state.json")).hasContent(state);
        assertThat(ht.refused("train", file, "--out", run, "--set seed=2"))
                .contains(
                        "was started with another configuration (seed was 1234, is 2)",
                        "continue it as it is with: ht train " + run);
        assertThat(ht.refused("train", run, "--out", dir.resolve("other"))).contains("omit --out");
        assertThat(ht.refused("train", file, "--set matrices.rat=1")).contains("the nearest is 'matrices.rate'");
    }

    @Test
    void printedCommandsCanBeCopied() throws Exception {
        Path run = train("Anna's run", "steps=2");
        String word = "'" + dir + "/Anna'\\''s run'";
        assertThat(ht.out()).contains("ht sample " + word);
        assertThat(ht.refused("train", file, "--out", run, "--set steps=2 --set seed=2"))
                .endsWith("ht train " + word);
        Path other = Files.copy(file, dir.resolve("my own.yaml"));
        assertThat(ht.fine("rates", other, "--to muonh")).contains("next: ht train '" + other + "' --set ");
        Files.writeString(other, "title: mine\n");
        assertThat(ht.refused("train", other)).endsWith("ht reproduce '" + other + "'");
    }

    @Test
    void theEngineThatWasChosenIsWrittenDown() throws Exception {
        Path run = train("run", "engine=auto", "steps=2");
        assertThat(Files.readString(run.resolve("config.yaml")))
                .doesNotContain("engine: \"auto")
                .containsPattern("engine: \"?\\w+");
        ht.fine("train", file, "--set engine=auto --set steps=2 --out", run);
    }

    @Test
    void aTransferEndsWithItsGaps() {
        Path run = train("run");
        assertThat(ht.fine("transfer", run, "--mode hypertransfer"))
                .contains(
                        " | gap ", "gap to the target: 12 of 12 steps have a target", "target norm", "effective rate");
        assertThat(ht.fine("transfer", run, "--mode hypertransfer"))
                .contains("is already finished")
                .doesNotContain("step 00001");
        Gap gap = Gap.of(dir.resolve("run-hypertransfer"), run);
        assertThat(gap.training().largest()).isLessThan(1e-9);
        assertThat(gap.validation().largest()).isLessThan(1e-9);
        assertThat(gap.norm()).isLessThan(1e-9);
        assertThat(gap.rate()).isLessThan(1e-9);

        ht.fine("transfer", run, "--mode hypertransfer --at 8");
        assertThat(gap("run-hypertransfer-at-8", run)).isLessThan(1e-9);
        assertThat(Curves.read(dir.resolve("run-hypertransfer-at-8"), told -> {})
                        .losses())
                .hasSize(4);

        assertThat(ht.refused("transfer", run, "--mode hypertransfer --out", run)) // "target was null, is "
                .contains("--out is " + run + ", the directory of the run to follow; choose another, or omit --out");
        assertThat(ht.refused("transfer", run, "--mode inverse-hypertransfer"))
                .contains("has the dynamics of Base(0.1), which mode inverse-hypertransfer does not follow;"
                        + " use one of hypertransfer, hypertransfer-plus, decay-transfer");
        assertThat(ht.refused("transfer", run, "--mode hypertransfer --decay 0.5 --out", dir.resolve("x")))
                .contains("is a Hyperball, which has none");
        assertThat(ht.refused("transfer", run, "--mode hypertransfer --set steps=20 --out", dir.resolve("x")))
                .contains("a run has the steps of its target, and " + run + " has 12; train the target with");
        assertThat(ht.refused("transfer", run, "--mode base --at 8 --decay 0.5"))
                .contains("which mode base does not follow");

        assertThat(ht.fine("runs", dir))
                .containsPattern("run +finished +12/12 +\\d\\.\\d{5} +\\d\\.\\d{5}")
                .containsPattern(
                        "run-hypertransfer +finished +12/12 +\\d\\.\\d{5} +\\d\\.\\d{5} +[\\d.]+ +[\\d.]+ +[\\d.]+ +[-+]\\d\\.\\de[-+]\\d+");
    }

    /** The twin of a decay transfer follows what that one followed, not the decay that it carried. */
    @Test
    void aTransferOfATransferFollowsTheSameTarget() {
        Path run = train("run");
        assertThat(ht.refused("transfer", run, "--mode decay-transfer")) // trained the same run once more
                .contains("another weight decay than that of " + run, "--decay 0.3");
        ht.fine("transfer", run, "--mode decay-transfer --decay 0.4");
        assertThat(gap("run-decay-transfer", run)).isLessThan(1e-9);
        ht.fine("transfer", dir.resolve("run-decay-transfer"), "--mode hypertransfer");
        assertThat(gap("run-decay-transfer-hypertransfer", run)).isLessThan(1e-9);
    }

    @Test
    void aScheduleCanBeUsedAgain() {
        Path fair = train("fair", "matrices.mode=fair");
        assertThat(ht.fine("schedule", fair)).contains("schedule-rate.json: rate of 6 matrices over 12 steps");
        train("again", "matrices.gradient=mode", "matrices.recorded=" + fair.resolve("schedule-rate.json"));
        assertThat(gap("again", fair)).isLessThan(1e-9);
        assertThat(ht.refused("schedule", fair, "--series angle")).contains("it must be rate, effective or replay");
        assertThat(ht.refused("schedule", fair, "--out", file)).contains("is already there");
        assertThat(ht.refused("schedule", dir)).contains("is not a run");
        Path brief = train("brief", "steps=1");
        assertThat(ht.out()).contains("; 1 step of 16 tokens");
        assertThat(ht.fine("schedule", brief)).contains("rate of 6 matrices over 1 step\n");
    }

    @Test
    void aScheduleIsSummedUpAndReplayed() throws IOException {
        Path ball = train("ball", "matrices.mode=hyperball", "matrices.rate=0.02", "matrices.final_ratio=0.25");
        Path csv = dir.resolve("replay.csv");
        assertThat(ht.fine("schedule", ball, "--series effective"))
                .contains(
                        "nearest named schedule",
                        "one schedule for all: linear, peak 0.02000, warm-up 0.000, final ratio 0.2500",
                        "error 0.0 %");
        Path one = dir.resolve("one"); // the table was written, and then the schedule over it
        assertThat(ht.refused("schedule", ball, "--out", one, "--csv", one))
                .contains("--out and --csv both name " + one);
        assertThat(one).doesNotExist();
        ht.fine("schedule", ball, "--series replay --csv", csv);
        List<String> rows = Files.readAllLines(csv);
        assertThat(rows).hasSize(1 + 6 * 12);
        assertThat(rows.getFirst()).isEqualTo("step,matrix,rate,decay");
        train("plain", "matrices.recorded=" + ball.resolve("schedule-replay.json"));
        assertThat(gap("plain", ball)).isLessThan(1e-12);
    }

    /** Some commands made the folder, and others said that there is no such file. */
    @Test
    void theFolderOfAFileThatIsWrittenIsMade() {
        Path run = train("muon"), folder = dir.resolve("new");
        ht.fine("export", run, "--out", folder.resolve("a/weights"));
        ht.fine("schedule", run, "--out", folder.resolve("b/schedule.json"), "--csv", folder.resolve("c/schedule.csv"));
        ht.fine("certify", run, run, "--steps 2 --out", folder.resolve("d/certificate"));
        ht.fine("report", run, "--out", folder.resolve("e/page.html"));
        assertThat(ht.refused("schedule", run, "--csv", "/")).contains("is not a file"); // was a bug
    }

    @Test
    void anExportHasTheWeightsThatAreEvaluated() {
        Path muon = train("muon", "network=M2");
        ht.fine("transfer", muon, "--mode hypertransfer-plus");
        Path twin = dir.resolve("muon-hypertransfer-plus");
        assertThat(ht.fine("export", muon, "--out", dir.resolve("a.safetensors")))
                .contains("at step 12");
        ht.fine("export", twin, "--out", dir.resolve("b.safetensors"));
        assertThat(ht.refused("export", twin, "--out", dir.resolve("b.safetensors")))
                .contains("is already there");
        try (SafeTensors a = SafeTensors.read(dir.resolve("a.safetensors"));
                SafeTensors b = SafeTensors.read(dir.resolve("b.safetensors"))) {
            assertThat(a.names())
                    .hasSize(12)
                    .contains("embed.weight", "blocks.0.attn.q.weight", "blocks.0.mlp.gain", "head.weight");
            assertThat(b.names()).isEqualTo(a.names());
            assertThat(a.shape("blocks.0.mlp.fc.weight")).containsExactly(32, 8);
            for (String name : a.names()) {
                assertThat(b.values(name)).as(name).containsExactly(a.values(name), within(1e-6));
            }
        }
    }

    @Test
    void aSampleContinuesThePrompt() throws Exception {
        Path run = train("run", "network=M2", "matrices.mode=hypertransfer-plus");
        Object[] prompt = {"sample", run, "--prompt", "Fellow citizens", "--tokens 20"};
        String first = ht.fine(prompt);
        assertThat(first).startsWith("Fellow citizens").endsWith(System.lineSeparator());
        assertThat(first.strip().length()).isGreaterThan("Fellow citizens".length());
        assertThat(ht.fine(prompt)).as("the same seed").isEqualTo(first);
        assertThat(ht.fine("sample", run, "--prompt", "Fellow citizens", "--tokens 20 --seed 2"))
                .isNotEqualTo(first);

        String likeliest = ht.fine("sample", run, "--prompt a --tokens 9 --temperature 0");
        assertThat(ht.fine("sample", run, "--prompt a --tokens 9 --top-k 1 --seed 5"))
                .as("only the likeliest")
                .isEqualTo(likeliest);
        assertThat(ht.fine("sample", run, "--prompt", "", "--tokens 0")).isBlank();

        Path newest = new Run(run).checkpoints().getFirst();
        Files.writeString(newest, "{");
        assertThat(ht.fine(prompt)).startsWith("warning: ").contains("step-00000012.json is damaged");
        assertThat(ht.refused("sample", run, "--prompt a --temperature -1")).contains("zero or more");
        assertThat(ht.refused("sample", dir, "--prompt a")).contains("is not a run");
    }

    @Test
    void invarianceSaysWhichTransferIsNeeded() {
        assertThat(ht.fine("invariance", file, "--set network=M2"))
                .containsPattern("blocks.0.attn.q.weight +\\S+ +yes +at-radius")
                .containsPattern("blocks.0.attn.o.weight +\\S+ +no +representative")
                .contains("so hypertransfer-plus and inverse-hypertransfer-plus are exact here");
        JsonNode json = ht.json("invariance", file, "--set network=M2");
        assertThat(json.path("exact").asString()).isEqualTo("hypertransfer-plus");
        assertThat(json.at("/matrices/blocks.0.attn.k.weight/invariant").asBoolean())
                .isTrue();
        assertThat(json.at("/matrices/blocks.0.mlp.fc.weight/change").asDouble())
                .isGreaterThan(json.path("rounding").asDouble());
        assertThat(ht.fine("invariance", file, "--set network=M2 --json")).isEqualToIgnoringNewLines(json.toString());
        assertThat(ht.fine("invariance", file)).contains("so hypertransfer and inverse-hypertransfer are exact here");
    }

    @Test
    void runsOfADirectory() throws Exception {
        assertThat(ht.fine("runs", dir)).contains("no runs in");
        assertThat(ht.refused("runs", dir.resolve("none"))).contains("there is no directory");
        Path run = train("deep/er/run", "steps=2");
        Files.createDirectories(dir.resolve("broken"));
        Files.writeString(dir.resolve("broken/config.yaml"), "stepz: 3");
        Path nul = Files.createDirectories(dir.resolve("nul"));
        Files.writeString(nul.resolve("config.yaml"), "target: \"a\\0b\"\n");
        Files.copy(
                run.resolve("config.yaml"), run.resolve("checkpoints/config.yaml")); // nobody looks for runs in a run
        assertThat(ht.fine("runs", dir)).contains(run.toString()).containsPattern("broken +unreadable");
        assertThat(ht.out().lines()).hasSize(4).noneMatch(line -> line.contains("checkpoints"));
        assertThat(ht.err()).contains("broken: ", "unknown key 'stepz'");
    }

    /** The path of the current directory has no name of its own. */
    @Test
    void runsOfTheCurrentDirectory() throws Exception {
        Path run = train("run", "steps=2");
        Process process = new ProcessBuilder(Child.java("runs", "."))
                .directory(run.toFile())
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        assertThat(new String(process.getInputStream().readAllBytes())).contains("finished", "2/2");
        assertThat(process.waitFor()).isZero();
    }

    /** The run could never be resumed, and no run beside it was listed. */
    @Test
    void aByteThatIsNotTextInALog() throws IOException {
        Path run = train("run"), metrics = run.resolve("metrics.jsonl"), checkpoints = run.resolve("checkpoints");
        List<String> lines = Files.readAllLines(metrics);
        for (String ending : List.of(".json", ".safetensors")) {
            Files.delete(checkpoints.resolve("step-00000012" + ending));
        }
        byte[] bytes = Files.readAllBytes(metrics);
        bytes[lines.get(0).length() + 4] = (byte) 0xff;
        Files.write(metrics, bytes);
        assertThat(ht.fine("runs", dir)).contains("run", "12/12");
        Path state = run.resolve("state.json");
        Files.writeString(state, Files.readString(state).replace("finished", "running")); // as after a kill
        assertThat(ht.fine("train", run))
                .contains("warning: metrics.jsonl has 1 damaged line (line 2 ", "; moved to metrics.jsonl.damaged");
        assertThat(Files.readAllLines(metrics)).hasSize(lines.size() - 1);
        assertThat(run.resolve("metrics.jsonl.damaged")).isNotEmptyFile();
    }

    /** The archives of docs/runs name no targets: a transfer was shown without its gap. */
    @Test
    void aTargetThatNobodyNamed() throws IOException {
        Path twin = train("twin", "matrices.mode=hypertransfer");
        train("other", "matrices.rate=0.01");
        assertThat(new Run(twin).target()).isEmpty();
        Path muon = train("run");
        assertThat(new Run(twin).target().orElseThrow().directory()).isEqualTo(muon);
        assertThat(new Run(muon).target()).isEmpty();
        assertThat(ht.json("runs", dir).findValuesAsString("gap")).containsExactly("", "", "0.0");
        Path ball = train("ball", "matrices.mode=hyperball"),
                inverse = train("inverse", "matrices.mode=inverse-hypertransfer");
        assertThat(new Run(inverse).target().orElseThrow().directory()).isEqualTo(ball);
    }

    /** It left the line out without a word; MutationTest has the other commands that read logs. */
    @Test
    void aPredictionTellsOfADamagedLine() throws IOException {
        Path run = train("run", "steps=6"), matrices = run.resolve("matrices.jsonl");
        Files.writeString(matrices, Files.readString(matrices).replaceFirst("\"norm\":\\[[^,]*,", "\"norm\":["));
        ht.fine("predict", run);
        assertThat(ht.err()).contains("warning: ", "matrices.jsonl has 1 damaged line (line 1 has 5 numbers");
    }

    /** Of a run that is not finished the mean rate was held against another's, and 'ht fair' recommended; NaN was printed. */
    @Test
    void aRunThatIsNotFinishedIsCompared() throws IOException {
        Path whole = train("whole", "steps=20"), fast = train("fast", "steps=20", "matrices.rate=0.2");
        assertThat(ht.fine("compare", whole, fast)).doesNotContain("-fold"); // of one optimizer
        Path ball = train("ball", "steps=20", "matrices.rate=0.2", "matrices.mode=hyperball");
        assertThat(ht.fine("compare", whole, ball)).contains("they compare rates as well as optimizers");
        Path wide = train("wide", "steps=20", "matrices.rate=0.2", "matrices.mode=hyperball", "model.width=32");
        assertThat(ht.fine("compare", whole, wide)).doesNotContain("-fold"); // which 'ht fair' would refuse
        Path part = train("part", "steps=20");
        Path matrices = part.resolve("matrices.jsonl");
        Files.write(matrices, Files.readAllLines(matrices).subList(0, 3));
        Files.delete(part.resolve("state.json"));
        assertThat(ht.fine("compare", whole, part))
                .contains("part - whole at step 20: +0.00000")
                .doesNotContain("-fold");
        Files.delete(matrices);
        assertThat(ht.fine("compare", whole, part)).doesNotContain("NaN").contains("effective rates unknown");
        assertThat(ht.fine("compare", whole, part, "--json"))
                .doesNotContain("NaN")
                .contains("\"peak\":null");
    }

    /** A lucky seed that only one side has made it the best of its optimizer, and its rates those that were compared. */
    @Test
    void ratesAreComparedAtCommonSeeds() throws IOException {
        String ball = "matrices.mode=hyperball", fast = "matrices.rate=2";
        Path muon = train("muon", "steps=20"), near = train("near", "steps=20", ball);
        Path far = train("far", "steps=20", ball, fast), lucky = train("lucky", "steps=20", ball, fast, "seed=7");
        for (Path run : List.of(far, lucky)) {
            Path metrics = run.resolve("metrics.jsonl");
            String loss = "\"validation\":" + (run == far ? 6 : 1);
            Files.writeString(metrics, Files.readString(metrics).replaceAll("\"validation\":[0-9.]+", loss));
        }
        assertThat(ht.fine("compare", muon, near, lucky, far)).doesNotContain("-fold");
        assertThat(ht.fine("compare", muon, lucky, far)).contains("-fold", "ht fair " + muon + " " + far);
    }

    /** Ended as bugs: an index out of bounds, and an element that is not there. */
    @Test
    void aScheduleOfADamagedRun() throws IOException {
        Path run = train("run", "steps=2"), matrices = run.resolve("matrices.jsonl");
        String good = Files.readString(matrices);
        Files.writeString(matrices, good.replaceFirst("\"norm\":\\[[^,]*,", "\"norm\":["));
        assertThat(ht.run("schedule", run, "--out", dir.resolve("a.json"))).isEqualTo(2);
        assertThat(ht.err())
                .contains("matrices.jsonl has 1 damaged line", "has logged no matrices at step 0; a schedule");
        Files.writeString(matrices, good);
        Files.writeString(run.resolve("provenance.json"), "{}");
        assertThat(ht.refused("schedule", run, "--out", dir.resolve("a.json"))).contains("provenance.json");
    }

    @Test
    void aResumedRunMayDifferInWhatIsNamed() throws Exception {
        Path run = train("run", "steps=12", "checkpoint.every=5");
        Files.delete(new Run(run).checkpoints().getFirst()); // that of step 12
        Files.delete(run.resolve("state.json"));
        Path config = run.resolve("config.yaml");
        String good = Files.readString(config);
        Files.writeString(config, good.replaceFirst("rate: 0\\.\\d+", "rate: 0.005"));
        assertThat(ht.refused("train", run)).contains("matrices.rate was ", ", is 0.005");
        Files.writeString(config, good);
        ht.fine("train", run, "--set", "matrices.rate=0.005");
        assertThat(Files.readString(config)).contains("rate: 0.005");
        assertThat(new Run(run).status().step()).isEqualTo(12);
    }

    @ParameterizedTest
    @CsvSource({"stop_above=1, 0", "adamw.epsilon=0, 1"})
    void aValidationLossBeyondAllBoundsEndsTheRunAsDiverged(String setting, int step) throws IOException {
        Path run = dir.resolve("diverged");
        assertThat(ht.run("train", file, "--set validation.every=1 --set", setting, "--out", run))
                .isEqualTo(3);
        assertThat(ht.err()).contains("the validation loss is ", " before step " + step + ", above ");
        assertThat(run.resolve("state.json"))
                .content()
                .contains("\"state\":\"failed\",\"step\":" + step, "\"kind\":\"diverged\"");
    }
}
