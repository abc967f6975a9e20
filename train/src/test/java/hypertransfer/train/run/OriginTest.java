package hypertransfer.train.run;

import static hypertransfer.train.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.log.FailureKind;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.RunLock;
import hypertransfer.train.network.Dialect;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a run continues from must be its own, and must be left alone where it cannot be read just now. */
class OriginTest {
    @TempDir
    Path dir;

    private Tiny tiny;
    private Configuration c;
    private Run run;

    @BeforeEach
    void train() {
        tiny = new Tiny(dir);
        c = tiny.configuration("steps=20", "network=M2", "matrices.mode=hypertransfer-plus", "matrices.direction=sgd");
        run = new Run(tiny.path("run"));
        tiny.trainUntil("run", c, 15);
    }

    private boolean resume(Configuration with, Set<String> changed) {
        try (RunLock lock = RunLock.open(run.directory())) {
            return Tiny.trainer(lock, with, new Watcher() {}).run(true, changed, () -> false);
        }
    }

    @Test
    void otherDataOfTheSameSizeIsNamed() throws IOException {
        Path shard = Path.of(c.data().train());
        byte[] bytes = Files.readAllBytes(shard);
        bytes[1024] ^= 1;
        Files.write(shard, bytes);
        assertRefused(() -> tiny.resume("run"), "data.train: was (words.bin, ");
    }

    /** It was stored and not compared: the losses after the resume were of other text, without a word. */
    @Test
    void otherValidationDataIsNamedAndCanBeAllowed() throws IOException {
        byte[] bytes = Files.readAllBytes(Path.of(c.data().train()));
        bytes[1024] ^= 1;
        Path other = dir.resolve("words-2.bin");
        Files.write(other, bytes);
        Configuration elsewhere = ConfigurationFile.with(c, "data.validation=" + other);
        assertRefused(() -> resume(elsewhere, Set.of()), "data.validation: was (words.bin, ", "is (words-2.bin, ")
                .hasMessageNotContaining("data.train");
        assertThat(resume(elsewhere, Set.of("data.validation"))).isTrue();
    }

    /** The configuration was written before the resume was refused, and the state became failed at step 0. */
    @Test
    void aRefusedChangeLeavesTheRunAsItWas() throws IOException {
        List<String> before =
                List.of(Files.readString(run.file(Run.CONFIGURATION)), Files.readString(run.file("state.json")));
        for (String setting : List.of("model.layers=2", "data.train=nowhere.bin", "steps=10")) {
            Set<String> key = Set.of(setting.replaceFirst("=.*", ""));
            assertRefused(() -> resume(ConfigurationFile.with(c, setting), key));
            assertThat(List.of(Files.readString(run.file(Run.CONFIGURATION)), Files.readString(run.file("state.json"))))
                    .as(setting)
                    .isEqualTo(before);
        }
        assertThat(run.changes()).isEmpty();
        resume(ConfigurationFile.with(c, "steps=21"), Set.of("steps"));
        assertThat(run.configuration().steps()).isEqualTo(21);
        assertThat(run.changes()).as("in the run's files too").hasToString("[step 15: steps was 20, is 21]");
        resume(ConfigurationFile.with(c, "steps=22"), Set.of("steps"));
        assertThat(run.changes()).hasSize(2).last().hasToString("step 21: steps was 21, is 22");
    }

    /** It became the rate of the whole run, in the configuration and in the last checkpoint, though no step had it. */
    @Test
    void aFinishedRunRefusesOtherSettingsWithoutMoreSteps() {
        tiny.resume("run");
        Configuration other = ConfigurationFile.with(c, "matrices.rate=0.5");
        assertRefused(
                () -> resume(other, Set.of("matrices.rate")),
                "the run is at step 20 of 20, so no step is left to train with other settings (matrices.rate was ",
                ", is 0.5)",
                "set more steps too");
        assertThat(run.configuration()).isEqualTo(c);
        resume(ConfigurationFile.with(c, "checkpoint.keep=1"), Set.of("checkpoint.keep"));
        assertThat(run.checkpoints()).as("what is trained stays the same").hasSizeLessThan(3);
        resume(ConfigurationFile.with(other, "steps=21"), Set.of("matrices.rate", "steps"));
        assertThat(run.configuration().steps()).isEqualTo(21);
    }

    /** Its path was compared, its contents were not. */
    @Test
    void anotherRecordedScheduleInTheSameFileIsNamed() throws IOException {
        tiny.resume("run");
        Path file = dir.resolve("schedule.json");
        RecordedRates.of(run, "rate", told -> {}).write(file);
        Configuration replayed = tiny.configuration("steps=20", "matrices.mode=hyperball", "matrices.recorded=" + file);
        tiny.trainUntil("replayed", replayed, 15);
        String text = Files.readString(file);
        Files.writeString(file, text.replaceFirst("\\[", "[1"));
        assertRefused(() -> tiny.resume("replayed"), "matrices.recorded: the file's checksum was ");
        Files.writeString(file, text);
        assertThat(tiny.resume("replayed")).isEmpty();
    }

    @Test
    void dataMayLieElsewhere() throws IOException {
        List<Object> whole = Tiny.result(tiny.train("whole", c));
        Path moved = Files.createDirectories(dir.resolve("elsewhere #2: here")).resolve("words.bin");
        Files.move(Path.of(c.data().train()), moved);
        resume(ConfigurationFile.with(c, "data.train=" + moved, "data.validation=" + moved), Set.of());
        assertThat(Tiny.result(run.directory())).isEqualTo(whole);
    }

    @Test
    void aCheckpointUnderAnotherNameIsPassedOver() throws IOException {
        Path newest = run.checkpoints().getFirst(), wrong = new Checkpoints(run).numbers(18);
        Files.copy(newest, wrong);
        Files.copy(Checkpoint.tensorsOf(newest), Checkpoint.tensorsOf(wrong));
        assertThat(tiny.resume("run")).hasSize(1).first().asString().contains("is of step 15, not of its name's");
    }

    @Test
    void anOlderVersionsCheckpointIsContinued() {
        List<Object> whole = Tiny.result(tiny.train("whole", c));
        Path newest = run.checkpoints().getFirst();
        Checkpoint now = Checkpoint.read(newest);
        new Checkpoint(now.step(), now.states(), now.validation(), null, now.tensors(), 0).write(newest);
        assertThat(newest).content().doesNotContain("origin");
        tiny.resume("run");
        assertThat(Tiny.result(run.directory())).isEqualTo(whole);
    }

    /** It had seven more keys, of which runs have one value each now, and another name for the transport. */
    @Test
    void aRunOfTheVersionBeforeContinues() throws IOException {
        List<Object> whole = Tiny.result(tiny.train("whole", c));
        Path config = run.file(Run.CONFIGURATION), newest = run.checkpoints().getFirst();
        String text = Files.readString(config)
                .replace("  transport:", "  carrier:")
                .replace("  tied:", "  gain: true\n  tied:")
                .replace(
                        "  beta2: 0.95",
                        "  schulz_steps: 0\n  shampoo_beta: 0.95\n  largest_side: 10000\n  beta2: 0.95")
                .replace("  matrices_every:", "  radial_every: 10\n  matrices_every:");
        Files.writeString(config, text.replace("adamw:\n", "adamw: # of the version before\n"));
        Checkpoint now = Checkpoint.read(newest);
        Origin origin = now.origin();
        Map<String, String> settings = new LinkedHashMap<>(origin.settings());
        settings.putAll(
                Map.of("model.gain", "true", "matrices.shampoo_beta", "0.95", "matrices.largest_side", "10000"));
        Origin before =
                new Origin(origin.rules(), settings, origin.training(), origin.validation(), origin.recorded(), null);
        new Checkpoint(now.step(), now.states(), now.validation(), before, now.tensors(), 0).write(newest);
        tiny.resume("run");
        assertThat(Tiny.result(run.directory())).isEqualTo(whole);
    }

    /** The order of sums in vectors of another width is another one. */
    @Test
    void anotherVectorWidthIsRefused() {
        Origin o = Checkpoint.read(run.checkpoints().getFirst()).origin();
        Origin other =
                new Origin(o.rules(), o.settings(), o.training(), o.validation(), o.recorded(), "vectors of 8 bits");
        assertThat(o.machine()).matches("(vectors of \\d+ bits, OpenBLAS for \\w+)?");
        assertRefused(
                () -> other.require(o, Set.of()),
                "the machine: it had vectors of 8 bits, this one has " + o.machine() + ", so the bits would differ");
        other.require(o, Set.of("engine"));
        String vectors = o.machine().replaceFirst(",.*", ""); // all that the version before noted
        new Origin(o.rules(), o.settings(), o.training(), o.validation(), o.recorded(), vectors).require(o, Set.of());
    }

    /** All six matrices had other weights before, with exit 0. */
    @Test
    void exportTrustsTheCheckpointAndNotTheProvenance() throws IOException {
        Path good = dir.resolve("good"), bad = dir.resolve("bad");
        TrainedNetwork.export(run, good, Dialect.OWN, null, Tiny::unexpected);
        Files.writeString(run.file(Run.PROVENANCE), "{}");
        TrainedNetwork.export(run, bad, Dialect.OWN, null, Tiny::unexpected);
        assertThat(bad).hasSameBinaryContentAs(good);
        assertThat(good)
                .content(java.nio.charset.StandardCharsets.ISO_8859_1)
                .contains("{\"network\":\"M2\",\"step\":\"15\"}");
        String config = Files.readString(run.file(Run.CONFIGURATION));
        Files.writeString(run.file(Run.CONFIGURATION), config.replace("hypertransfer-plus", "base"));
        assertRefused(
                () -> TrainedNetwork.export(run, bad, Dialect.OWN, null, Tiny::unexpected),
                "matrices.mode was hypertransfer-plus, is base");
    }

    /** A directory in a file's place cannot be read, as a disk that fails for a moment. */
    @Test
    void whatCannotBeReadNowIsNeitherDamagedNorDeleted() throws IOException {
        for (String ending : List.of(".json", ".safetensors")) {
            Path file = run.file(Run.CHECKPOINTS).resolve("step-00000015" + ending), aside = dir.resolve("aside");
            Files.move(file, aside, StandardCopyOption.REPLACE_EXISTING);
            Files.createDirectory(file);
            List<String> before = Tiny.files(run.file(Run.CHECKPOINTS));
            assertThatThrownBy(() -> tiny.resume("run"))
                    .isInstanceOf(UncheckedIOException.class)
                    .hasMessageContaining("cannot read " + file)
                    .hasMessageContaining("run the same command again to continue");
            assertThat(Tiny.files(run.file(Run.CHECKPOINTS))).isEqualTo(before);
            assertThat(run.status().kind()).isEqualTo(FailureKind.FILES);
            Files.delete(file);
            Files.move(aside, file);
        }
        assertThat(tiny.resume("run")).isEmpty();
    }

    @Test
    void theFirstCorpusIsClosedWhereTheSecondIsRefused() throws IOException {
        Path maps = Path.of("/proc/self/maps");
        org.junit.jupiter.api.Assumptions.assumeTrue(Files.exists(maps), "this system does not show its mappings");
        Configuration bad = ConfigurationFile.with(c, "data.validation=" + dir.resolve("nowhere.bin"));
        assertRefused(() -> Feed.open(bad));
        assertThat(Files.readString(maps))
                .doesNotContain(Path.of(c.data().train()).toRealPath().toString());
    }

    @Test
    void theDemosBytesAreNotTakenForGpt2sTokens() {
        Configuration large = ConfigurationFile.of("preset=gpt2-124m");
        assertRefused(() -> Feed.open(large), "model.vocab is 50304", "ht data tokenize");
    }

    @Test
    void aModeThatIsNotExactOnTheNetworkIsNamed() {
        assertThat(warnings("network=M2", "matrices.mode=hypertransfer"))
                .anyMatch(w -> w.contains("mode hypertransfer is not exact on M2")
                        && w.contains("attn.v, attn.o, mlp.fc, mlp.proj are not"));
        assertThat(warnings("network=M2", "matrices.mode=base")).isEmpty();
        assertThat(warnings("network=M2", "matrices.mode=hypertransfer", "matrices.gradient=auto"))
                .isEmpty();
        assertThat(warnings("network=M1", "matrices.mode=hypertransfer")).isEmpty();
        assertThat(warnings("network=M1", "matrices.mode=hypertransfer", "matrices.groups.q.gradient=as-is"))
                .containsExactly("mode hypertransfer is not exact on M1: the gradients of attn.q are not their"
                        + " target's; set matrices.gradient to auto");
        assertThat(warnings("network=M1", "matrices.mode=fair")).isEmpty();
    }

    @Test
    void atRadiusIsRefusedWhereTheScaleMatters() {
        assertRefused(() -> warnings("network=M2", "matrices.gradient=at-radius"))
                .hasMessageContaining("depends on the scale of blocks.0.attn.v.weight; set matrices.gradient to auto");
        assertRefused(
                () -> warnings("network=M1", "matrices.gradient=at-radius", "matrices.view=heads"),
                "depends on the scale of the parts that matrices.view heads makes of blocks.0.attn.o.weight; set");
        assertThat(warnings("network=M2", "matrices.groups.q|k.gradient=at-radius"))
                .isEmpty();
        assertRefused(
                () -> warnings("network=M1", "matrices.groups.o.gradient=at-radius", "matrices.groups.o.init=zero"),
                "at-radius, but blocks.0.attn.o.weight starts at zero; set matrices.gradient to auto");
        assertThat(warnings("network=M1", "matrices.gradient=at-radius")).isEmpty();
    }

    @Test
    void mastersOfAnotherFormatAreConvertedWithASentence() {
        Path half = tiny.train("half", "engine=cpu", "matrices.master=float32", "steps=4");
        assertThat(warnings("engine=cpu", "matrices.master=float64", "from.run=" + half, "from.step=4", "steps=5"))
                .singleElement()
                .asString()
                .contains("step 4 has float32 masters; they continue as float64 from the same values");
        Path exact = tiny.train("exact", "engine=cpu", "matrices.master=float64", "steps=4");
        assertThat(warnings("engine=cpu", "matrices.master=float32", "from.run=" + exact, "from.step=4", "steps=5"))
                .singleElement()
                .asString()
                .contains("step 4 has float64 masters; they are rounded to float32 here");
        assertThat(warnings("engine=cpu", "matrices.master=float64", "from.run=" + exact, "from.step=4", "steps=5"))
                .isEmpty();
    }

    private List<String> warnings(String... settings) {
        Configuration one = tiny.configuration(List.of("steps=1"), settings);
        return tiny.warnings(String.join("-", settings).replaceAll("[^a-z0-9]+", "-"), one);
    }
}
