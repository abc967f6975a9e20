package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.lab.terminal.Meter;
import hypertransfer.lab.terminal.Width;
import hypertransfer.train.data.Tokenizer.Progress;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DataCommandTest {
    @TempDir
    private Path directory;

    private final Ht ht = new Ht();

    private Path tokenize(String text, String... more) throws IOException {
        Path file = Files.writeString(directory.resolve("text.txt"), text), shards = directory.resolve("shards");
        ht.fine("data tokenize", file, "--validation 0 --out", shards, List.of(more));
        return shards.resolve("shards_train_000001.bin");
    }

    @Test
    void whatTokenizeWritesInspectShows() throws IOException {
        Path shard = tokenize("Hello world\n<|endoftext|>\nHello again\n");
        assertThat(ht.out())
                .contains("documents   2", "train       8 tokens in " + shard, "validation  0 tokens in no shard");
        assertThat(ht.fine("data inspect", shard, "--vocab 50257"))
                .contains("magic 20240520, version 1", "tokens      8", "ids         5 different, 198 to 50256")
                .contains("documents   2 start in this file (token 50256)")
                .contains("first ids   50256 15496 995 198 50256 15496 757 198")
                .contains("as gpt2     <|endoftext|>Hello world\n<|endoftext|>Hello again\n");
    }

    @Test
    void aDirectoryIsInspectedShardByShard() throws IOException {
        Path file = Files.writeString(directory.resolve("long.txt"), "word ".repeat(3000));
        Path shards = directory.resolve("long");
        assertThat(ht.fine("data tokenize", file, "--out", shards))
                .contains("train       1,978 tokens")
                .contains("validation  1,025 tokens", "1,025 of these are the end of the text");
        assertThat(ht.fine("data inspect", shards))
                .containsPattern("long_train_000001.bin +1,978 +1 +\\d+ to 50256 gpt2")
                .containsPattern("long_val_000000.bin +1,025 +1 ")
                .contains("3,003 tokens in 2 shards, without errors");
        assertThat(ht.fine("data inspect", shards, "--json")).contains("\"tokens\":1978,\"documents\":1");
        Files.write(shards.resolve("long_val_000000.bin"), new byte[2000]);
        assertThat(ht.refused("data inspect", shards)).contains("long_val_000000.bin is not a shard of GPT-2 tokens");
        assertThat(ht.refused("data inspect", directory)).contains("there are no shards *.bin in");
        assertThat(ht.refused("data inspect", Files.writeString(directory.resolve("short.txt"), "word")))
                .contains("it has 4 bytes, and the header has 1024; write shards with ht data tokenize");
    }

    /** "Rename the field" was the answer for 50 GB, and one bad byte ended all. */
    @Test
    void anotherFieldBadLinesAndAnotherOrder() throws IOException {
        String lines = "{\"content\":\"one\"}\n{\"content\":\"two\"}\n".repeat(20);
        Path file = Files.writeString(directory.resolve("crawl.jsonl"), lines + "{broken\n{\"text\":\"no content\"}\n");
        Path to = directory.resolve("crawl");
        List<Object> into = List.of("--field", "content", "--validation", 0, "--out", to);
        ht.refused("data tokenize", file, into);
        ht.fine("data tokenize", file, into, "--skip-bad --shuffle 1");
        byte[] first = Files.readAllBytes(to.resolve("crawl_train_000001.bin"));
        ht.fine("data tokenize", file, into, "--skip-bad --shuffle 2 --force");
        assertThat(to.resolve("crawl_train_000001.bin"))
                .binaryContent()
                .isNotEqualTo(first)
                .hasSameSizeAs(first);
        assertThat(ht.out()).contains("documents   40", "skipped     2 lines that cannot be read");
        assertThat(ht.err()).contains("the first that was skipped: ", "crawl.jsonl");
    }

    @Test
    void bytesSayWhatSeparatesThem() throws IOException {
        tokenize("Hi\n");
        Path shard = tokenize("Hi\n", "--tokens", "bytes", "--force");
        assertThat(ht.out()).contains("byte 0 stands before every document");
        assertThat(ht.fine("data inspect", shard)).contains("first ids   0 72 105 10", "as bytes    <|endoftext|>Hi");
    }

    @Test
    void namesWhatIsMissing() {
        assertThat(ht.refused("data")).contains("tokenize or inspect");
        assertThat(ht.refused("data tokenize x.txt")).contains("--out");
        Path none = directory.resolve("none.bin");
        assertThat(ht.refused("data inspect", none)).contains("there is no shard " + none);
    }

    @Test
    void endedBySignalItLeavesNothing() throws Exception {
        Path shards = directory.resolve("shards");
        Process process = new ProcessBuilder(Child.java("data", "tokenize", "-", "--tokens=bytes", "--out=" + shards))
                .redirectErrorStream(true)
                .redirectOutput(directory.resolve("log").toFile())
                .start();
        try {
            byte[] text = "words and words\n".repeat(1 << 16).getBytes(StandardCharsets.UTF_8);
            Path half = shards.resolve("shards_train_000001.bin.part");
            while (process.isAlive() && !Files.exists(half)) {
                process.getOutputStream().write(text);
            }
            assertThat(half).exists();
            process.destroy();
            assertThat(process.waitFor()).isEqualTo(128 + 15);
            assertThat(shards).doesNotExist();
        } finally {
            process.destroyForcibly();
        }
    }

    @Test
    void theMeterShowsRateAndTimeLeft() {
        assertThat(Meter.line(new Progress(25_000_000, 100_000_000, 50_000_000, 1234, 12_500_000), 5))
                .isEqualTo("[######------------------]  25%  1,234 documents, 12.5 M tokens, 10.0 MB/s, 0:15 left");
        assertThat(Meter.line(new Progress(0, 0, 50_000_000, 1, 12_500_000), 5))
                .isEqualTo("1 document, 12.5 M tokens, 10.0 MB/s");
    }

    @Test
    void onATerminalTheMeterIsOneLine() {
        StringWriter err = new StringWriter();
        long[] now = {0};
        try (Meter meter = new Meter(new PrintWriter(err), true, new Width(200), () -> now[0])) {
            for (int i = 1; i <= 10; i++) {
                now[0] = i * 1_000_000_000L;
                meter.accept(new Progress(i, 10, i, i, i));
            }
        }
        assertThat(err.toString().lines().count())
                .as("split at \\r: ten updates and the last word")
                .isEqualTo(12);
        assertThat(err.toString()).doesNotContain("\n[").endsWith(System.lineSeparator());
    }
}
