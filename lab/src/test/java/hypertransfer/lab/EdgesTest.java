package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.lab.terminal.Exit;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.RandomAccessFile;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Odd things that people and machines do to a command; each crashed, hung or lied once. */
@Timeout(60)
class EdgesTest {
    @TempDir
    Path dir;

    private final Ht ht = new Ht();
    private Path file;

    @BeforeEach
    void configuration() throws Exception {
        file = Ht.tiny(dir, "tiny", "steps: 6", "checkpoint: {every: 2, keep: 9}");
    }

    private Path train() {
        ht.fine("train", file, "--out", dir.resolve("run"));
        return dir.resolve("run");
    }

    private static void damage(Path file) throws IOException {
        try (RandomAccessFile bytes = new RandomAccessFile(file.toFile(), "rw")) {
            bytes.seek(bytes.length() - 4);
            bytes.writeInt(12345);
        }
    }

    /** It was "already finished", exit 0, for ever. */
    @Test
    void aFinishedRunWhoseLastWeightsAreDamagedIsRepaired() throws Exception {
        Path run = train(), last = run.resolve("checkpoints/step-00000006.safetensors");
        byte[] good = Files.readAllBytes(last);
        String metrics = Files.readString(run.resolve("metrics.jsonl")).replaceAll("\"seconds\":[^}]*", "");
        damage(last);
        for (Object[] again : new Object[][] {{"train", run}, {"train", file, "--out", run}}) {
            assertThat(ht.fine(again)).contains("is damaged: its checksum").doesNotContain("already finished");
            assertThat(last).hasBinaryContent(good);
            assertThat(Files.readString(run.resolve("metrics.jsonl")).replaceAll("\"seconds\":[^}]*", ""))
                    .isEqualTo(metrics);
            damage(last);
        }
    }

    /** The first was told as another run, the second ignored, the third a fault of the disk, the last a tensor of -64 rows. */
    @Test
    void whatWasToldAsSomethingElse() {
        Path run = train();
        assertThat(ht.refused("verify", run, "--set", "=1")).contains("--set takes key=value", "it was given '=1'");
        assertThat(ht.refused("rates", run, "--to", "")).contains("unknown optimizer ''");
        assertThat(ht.refused("import", dir, file, "--out", dir.resolve("new")))
                .contains(dir + " is a directory; give a .safetensors file");
        assertThat(ht.refused("train", file, "--set model.accumulation=2147483647 --out", dir.resolve("new")))
                .contains("model.accumulation gives one process 2147483647 micro-batches of 16 tokens");
        assertThat(dir.resolve("new")).doesNotExist();
    }

    @Test
    void aFinishedRunWithoutWeightsIsRefusedAndLeftAlone() throws Exception {
        Path run = train();
        try (Stream<Path> all = Files.list(run.resolve("checkpoints"))) {
            for (Path checkpoint : all.toList()) {
                Files.delete(checkpoint);
            }
        }
        String metrics = Files.readString(run.resolve("metrics.jsonl"));
        assertThat(ht.refused("train", run)).contains("its checkpoints are gone", "another --out");
        assertThat(run.resolve("metrics.jsonl")).hasContent(metrics);
    }

    @ParameterizedTest
    @CsvSource({"No space left on device, 4", "Input/output error, 6", "Broken pipe, 0"})
    void anAnswerThatCannotBeWritten(String why, int exit) {
        Answer answer = new Answer(new OutputStream() {
            @Override
            public void write(int one) throws IOException {
                throw new IOException(why);
            }
        });
        PrintWriter out = new PrintWriter(answer, true);
        StringWriter err = new StringWriter();
        int ended = Main.run(out, new PrintWriter(err), false, "presets");
        assertThat(answer.checked(ended, new PrintWriter(err))).isEqualTo(exit);
        assertThat(err.toString())
                .isEqualTo(exit == 0 ? "" : "ht: cannot write the answer to standard output: " + why + "\n");
    }

    @ParameterizedTest
    @ValueSource(strings = {"preset=[1]", "preset={a:1}"})
    void aPresetThatIsNoName(String setting) {
        assertThat(ht.refused("train", file, "--set", setting)).contains("unknown preset");
    }

    /** Commands that train nothing know it too. */
    @Test
    void anExperimentOrADirectoryIsNoConfiguration() {
        for (String command : List.of("rates % --to muonh", "predict %", "certify % " + file)) {
            String experiment = command.replace("%", "../runs/exp1.yaml");
            assertThat(ht.refused(experiment)).contains("exp1.yaml is an experiment; run it with: ht reproduce exp1");
        }
        assertThat(ht.refused("sweep", dir, "--grid rate=1"))
                .contains(" is a directory; give a configuration, such as ");
    }

    @Test
    void aScheduleWithALayerBeyondEveryNumber() throws Exception {
        Path rates = Files.writeString(
                dir.resolve("rates.json"),
                "{\"source\":\"x\",\"series\":\"rate\",\"logged\":2,\"rates\":"
                        + "{\"blocks.9223372036854775808.attn.q.weight\":[0.1,0.1]}}");
        assertThat(ht.refused("train", file, "--set matrices.recorded=" + rates))
                .contains("has no rates for blocks.0.attn.q.weight");
        Files.writeString(rates, "{\"source\":\"x\",\"series\":\"rate\",\"rates\":{\"a\":[0.1,");
        assertThat(ht.refused("train", file, "--set matrices.recorded=" + rates))
                .endsWith("rates.json is not a recorded schedule: it ends in the middle");
    }

    /** To open a pipe that nobody writes waits for ever. */
    @Test
    void pipes() throws Exception {
        Path pipe = dir.resolve("pipe");
        assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor())
                .isZero();
        assertThat(ht.refused("import", pipe, file, "--out", dir.resolve("imported")))
                .contains("not a regular file");
        assertThat(ht.refused("data tokenize", pipe, "--out", dir.resolve("shards")))
                .contains("not a regular file");
        assertThat(ht.refused("train", pipe)).contains("there is no file");
        assertThat(ht.refused("train", file, "--set data.train=" + pipe)).contains("not a regular file");
        assertThat(ht.refused("train", file, "--set matrices.recorded=" + pipe)).contains("no recorded schedule");
        assertThat(ht.refused("reproduce", pipe)).contains("unknown experiment");
        Path run = train();
        for (String name : new String[] {"state.json", "provenance.json", "metrics.jsonl"}) {
            Files.move(run.resolve(name), dir.resolve("kept"));
            Files.move(pipe, run.resolve(name));
            assertThat(ht.run("report", run, "--out", dir.resolve("page.html"))).isLessThan(70);
            assertThat(ht.run("runs", dir)).isLessThan(70);
            Files.move(run.resolve(name), pipe);
            Files.move(dir.resolve("kept"), run.resolve(name));
        }
    }

    /** The JDK throws it while it lists what is inside; the sentence was the name of its class. */
    @Test
    void aFolderThatCannotBeListed() {
        StringWriter err = new StringWriter();
        var denied = new UncheckedIOException(new AccessDeniedException("texts/sub"));
        assertThat(new Failure(new PrintWriter(err), false).report(denied)).isEqualTo(Exit.NO_PERMISSION);
        assertThat(err.toString().strip()).isEqualTo("ht: cannot read texts/sub: permission denied");
    }

    /** It took a minute, and then all memory. */
    @Test
    void aHugeConfigurationIsRefusedBeforeItIsRead() throws Exception {
        Path huge = dir.resolve("huge.yaml");
        try (RandomAccessFile sparse = new RandomAccessFile(huge.toFile(), "rw")) {
            sparse.setLength(2L << 30);
        }
        for (String command : new String[] {"train", "reproduce", "predict", "rates"}) {
            assertThat(ht.refused(command, huge)).as(command).contains("has 2147483648 bytes");
        }
    }

    @Test
    void weightsThatAreNoNumbersAndBytesBehindTheLast() throws Exception {
        Path run = train(), weights = dir.resolve("weights.safetensors"), to = dir.resolve("imported");
        ht.fine("export", run, "--out", weights);
        byte[] good = Files.readAllBytes(weights);
        Files.write(weights, new byte[] {1, 2, 3}, StandardOpenOption.APPEND);
        assertThat(ht.refused("import", weights, file, "--out", to)).contains("has 3 bytes after its last tensor");
        ByteBuffer last = ByteBuffer.wrap(good).order(ByteOrder.LITTLE_ENDIAN);
        last.putFloat(good.length - 4, Float.NaN);
        Files.write(weights, good);
        assertThat(ht.refused("import", weights, file, "--out", to)).contains("holds NaN, which is not a weight");
        assertThat(to).doesNotExist();
    }

    @Test
    void aPageAndItsPrintUnderOneName() {
        Path run = train(), page = dir.resolve("x");
        assertThat(ht.refused("report", run, "--out", page, "--pdf", page)).contains("name two files");
        assertThat(page).doesNotExist();
    }

    /** The shards were whole, and yet it said that there were some already, exit 2. */
    @Test
    void aTokenizerKilledInItsLastMoment() throws Exception {
        Path text = Files.writeString(dir.resolve("a.txt"), "to be or not to be ".repeat(400)),
                out = dir.resolve("set");
        ht.fine("data tokenize", text, "--out", out, "--tokens bytes");
        byte[] shard = Files.readAllBytes(out.resolve("set_train_000001.bin"));
        Files.writeString(out.resolve("tokenize.commit"), "set_train_000001.bin\nset_val_000000.bin");
        Files.move(out.resolve("set_train_000001.bin"), out.resolve("set_train_000001.bin.part"));
        assertThat(ht.fine("data tokenize", text, "--out", out, "--tokens bytes"))
                .contains("are whole now");
        assertThat(out.resolve("set_train_000001.bin")).hasBinaryContent(shard);
        assertThat(ht.refused("data tokenize", text, "--out", out, "--tokens bytes"))
                .contains("there are shards already");
    }
}
