package hypertransfer.train.data;

import static hypertransfer.train.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;

import com.knuddels.jtokkit.Encodings;
import com.knuddels.jtokkit.api.Encoding;
import com.knuddels.jtokkit.api.EncodingType;
import hypertransfer.train.data.Tokenizer.Held;
import hypertransfer.train.data.Tokenizer.Options;
import hypertransfer.train.data.Tokenizer.Progress;
import hypertransfer.train.data.Tokenizer.Result;
import hypertransfer.train.data.text.Vocabulary;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TokenizerTest {
    private static final Encoding JTOKKIT = Encodings.newLazyEncodingRegistry().getEncoding(EncodingType.R50K_BASE);
    private static final OptionalLong IN_ORDER = OptionalLong.empty();

    @TempDir
    private Path directory;

    private Path in;
    private Path out;

    @BeforeEach
    void folders() throws IOException {
        in = Files.createDirectory(directory.resolve("in"));
        out = directory.resolve("set");
    }

    private static Options options(double validation, long shardTokens, int threads) {
        Held held = new Held(validation, 0);
        return new Options(Vocabulary.GPT2, "text", false, held, IN_ORDER, shardTokens, false, threads);
    }

    /** Of bytes, where lines that cannot be read are skipped. */
    private static Options holding(double share, long fewest, OptionalLong shuffle, long shardTokens) {
        return new Options(Vocabulary.BYTES, "text", true, new Held(share, fewest), shuffle, shardTokens, false, 2);
    }

    private static Result run(Path out, Options options, Object... places) {
        return new Tokenizer(out, options)
                .run(Stream.of(places).map(Object::toString).toList(), progress -> {});
    }

    private static Path pack(Path file, String text) throws IOException {
        try (OutputStream to = new GZIPOutputStream(Files.newOutputStream(file))) {
            to.write(text.getBytes(StandardCharsets.UTF_8));
        }
        return file;
    }

    private static String joined(int count, IntFunction<String> part) {
        return IntStream.range(0, count).mapToObj(part).collect(Collectors.joining());
    }

    private int[] ids(Split split) {
        try (Corpus corpus = Corpus.open(List.of(out.toString()), split, 50257)) {
            int[] ids = new int[(int) corpus.count()];
            corpus.read(0, ids, 0, ids.length);
            return ids;
        }
    }

    private String decoded(Vocabulary vocabulary, Split split) {
        return vocabulary.decode(ids(split));
    }

    /** The documents of shards of bytes. */
    private List<String> documents(Split split) {
        return List.of(decoded(Vocabulary.BYTES, split).substring(13).split("<\\|endoftext\\|>"));
    }

    private Map<String, byte[]> files(Path folder) throws IOException {
        Map<String, byte[]> files = new TreeMap<>();
        try (Stream<Path> list = Files.list(folder)) {
            for (Path file : list.toList()) {
                files.put(file.getFileName().toString(), Files.readAllBytes(file));
            }
        }
        return files;
    }

    private static String document(int i) {
        return "Document " + i + " isn't long; it's “quoted”, naïve, and has\n\n  " + "number 7 ".repeat(i % 13) + "\n";
    }

    @Test
    void textComesBackFromShards() throws IOException {
        String first = "It's 3.14 — naïve 漢字 😀\n\n\tcode  <|endoftext|> as text\r\n", second = document(5);
        Path file = Files.writeString(in.resolve("a.txt"), first + "<|endoftext|>\n" + second);
        Result result = run(out, options(0, 1000, 2), file);
        assertThat(result.documents()).isEqualTo(2);
        assertThat(result.validation().files()).isEmpty();
        int[] expected = Stream.of(first, second)
                .flatMapToInt(text -> IntStream.concat(
                        IntStream.of(50256),
                        IntStream.of(JTOKKIT.encodeOrdinary(text).toArray())))
                .toArray();
        assertThat(ids(Split.TRAIN)).containsExactly(expected);
        assertThat(decoded(Vocabulary.GPT2, Split.TRAIN)).isEqualTo("<|endoftext|>" + first + "<|endoftext|>" + second);
    }

    @Test
    void shardsDoNotDependOnThreads() throws IOException {
        String text = joined(3000, i -> document(i) + (i % 3 == 0 ? "<|endoftext|>\n" : ""));
        Files.writeString(in.resolve("a.txt"), text + "one long document ".repeat(40_000)); // several pieces
        pack(in.resolve("b.jsonl.gz"), joined(3000, i -> "{\"text\": \"line " + i + " it's\"}\n"));
        Map<String, byte[]> once = null;
        for (int threads : new int[] {1, 2, 7}) {
            out = directory.resolve("threads" + threads).resolve("set");
            Result result = run(out, options(0.05, 50_000, threads), in);
            assertThat(result.documents()).isEqualTo(4001);
            assertThat(result.train().files()).hasSizeGreaterThan(3).doesNotHaveDuplicates();
            once = once == null ? files(out) : once;
            assertThat(files(out)).containsExactlyEntriesOf(once);
        }
    }

    @Test
    void everyDocumentIsWhollyInOneSplit() throws IOException {
        int n = 2000;
        Files.writeString(in.resolve("a.jsonl"), joined(n, i -> "{\"text\": \"<" + i + ">\"}\n"));
        Result result = run(out, holding(0.1, 0, IN_ORDER, 1_000_000), in);
        List<String> train = documents(Split.TRAIN), held = documents(Split.VALIDATION);
        assertThat(Stream.concat(train.stream(), held.stream()))
                .containsExactlyInAnyOrderElementsOf(
                        IntStream.range(0, n).mapToObj(i -> "<" + i + ">").toList());
        assertThat(held).hasSizeBetween(150, 250);
        assertThat(result.train().tokens() + result.validation().tokens())
                .isEqualTo(ids(Split.TRAIN).length + ids(Split.VALIDATION).length);
        assertThat(result.validation().files()).containsExactly(out.resolve("set_val_000000.bin"));
    }

    @Test
    void directoriesAreReadByNameAtAnyDepth() throws IOException {
        Files.createDirectories(in.resolve("b/c"));
        Files.writeString(in.resolve("z.md"), "z");
        pack(in.resolve("b/c/y.txt.gz"), "y");
        Files.writeString(in.resolve("a.JSONL"), "{\"text\": \"a\"}");
        Files.writeString(in.resolve("picture.png"), "no text");
        Files.writeString(in.resolve("empty.txt"), "");
        run(out, options(0, 1000, 1), in);
        assertThat(decoded(Vocabulary.GPT2, Split.TRAIN)).isEqualTo("<|endoftext|>a<|endoftext|>y<|endoftext|>z");
    }

    @Test
    void shardsAreFullButTheLastAndForceReplacesAllOfThem() throws IOException {
        Path file = Files.writeString(in.resolve("a.txt"), "word ".repeat(99).strip());
        Result result = run(out, options(0, 40, 1), file);
        assertThat(result.train().files()).map(path -> Files.size(path)).containsExactly(1104L, 1104L, 1064L);
        assertThat(ids(Split.TRAIN)).hasSize(100);
        Map<String, byte[]> before = files(out);
        assertRefused(() -> run(out, options(0, 100, 1), file), "set_train_000001.bin", "--force");
        assertThat(files(out)).containsExactlyEntriesOf(before);
        Files.writeString(out.resolve("setb_train_000001.bin"), "another set's");
        Options o = options(0, 100, 1);
        run(out, new Options(o.vocabulary(), o.field(), o.skip(), o.held(), o.shuffle(), 100, true, 1), file);
        assertThat(files(out)).containsOnlyKeys("set_train_000001.bin", "setb_train_000001.bin");
    }

    @Test
    void badInputLeavesNothing() throws IOException {
        Path text = in.resolve("bad.txt");
        Files.write(text, ("line\n".repeat(60_000) + "caf\u00e9\n").getBytes(StandardCharsets.ISO_8859_1));
        refused("bad.txt, line 60001: byte 0xe9 is not UTF-8", text);
        Path json = Files.writeString(in.resolve("bad.jsonl"), "{\"text\": \"good\"}\n".repeat(20_000) + "{\"text\": ");
        refused("bad.jsonl, line 20001: broken JSON", json);
        byte[] packed =
                Files.readAllBytes(pack(in.resolve("cut.txt.gz"), document(12).repeat(50)));
        Path cut = Files.write(in.resolve("cut.txt.gz"), Arrays.copyOf(packed, packed.length / 2));
        refused("cut.txt.gz is cut off", cut);
        refused("cannot read", Files.writeString(in.resolve("plain.txt.gz"), "not packed"));
        refused("there is no file or directory", in.resolve("none.txt"));
        refused("there is no text", Files.writeString(in.resolve("empty.txt"), ""));
        refused("no text in the directory", Files.createDirectory(in.resolve("bare")));
        assertRefused(() -> run(text, options(0, 10, 1), json), "cannot make the directory");
    }

    private void refused(String message, Path place) throws IOException {
        assertRefused(() -> run(out, options(0.01, 100_000, 2), place), message);
        assertThat(out).doesNotExist();
    }

    @Test
    void refusesOptionsOutOfRange() {
        assertRefused(() -> options(1, 10, 1), "1.0");
        assertRefused(() -> options(Double.NaN, 10, 1));
        assertRefused(() -> options(0, 0, 1));
        assertRefused(() -> options(0, 1L << 31, 1));
        assertRefused(() -> options(0, 10, 0));
        assertRefused(() -> Vocabulary.parse("gpt4"), "gpt2");
    }

    @Test
    void closedInTheMiddleItLeavesNothing() throws IOException {
        Files.writeString(in.resolve("a.txt"), document(9).repeat(12_000));
        Tokenizer tokenizer = new Tokenizer(out, options(0, 50_000, 1));
        assertRefused(
                () -> tokenizer.run(List.of(in.toString()), progress -> {
                    assertThat(progress.tokens()).isPositive();
                    assertThat(out).isDirectoryContaining("glob:**.part").isDirectoryNotContaining("glob:**.bin");
                    tokenizer.close(); // what the shutdown hook does
                }),
                "no shard was written");
        assertThat(out).doesNotExist();
    }

    @Test
    void whatAKilledProcessLeftIsNoShardAndGoesWithTheNextOne() throws IOException {
        Files.createDirectories(out);
        Files.writeString(out.resolve("set_train_000009.bin.part"), "half");
        Files.writeString(out.resolve("set_val_000000.bin.part"), "half");
        assertRefused(() -> ids(Split.TRAIN), "no shards");
        run(out, options(0, 1000, 1), Files.writeString(in.resolve("a.txt"), "text"));
        assertThat(files(out)).containsOnlyKeys("set_train_000001.bin");
    }

    @Test
    void progressEndsWithTheWhole() throws IOException {
        Path file = pack(in.resolve("a.txt.gz"), document(9).repeat(12_000));
        List<Progress> seen = new ArrayList<>();
        new Tokenizer(out, options(0, 1_000_000_000, 1)).run(List.of(file.toString()), seen::add);
        Progress last = seen.getLast();
        assertThat(last.read()).isEqualTo(last.total()).isEqualTo(Files.size(file));
        assertThat(last.text()).isEqualTo(12_000L * document(9).getBytes(StandardCharsets.UTF_8).length);
        assertThat(last.tokens()).isEqualTo(ids(Split.TRAIN).length);
        assertThat(seen).isSortedAccordingTo((a, b) -> Long.compare(a.text(), b.text()));
    }

    /** A kill between two renames left a directory that trained on a part of the text, or on old and new shards. */
    @Test
    void aKillDuringTheCommitIsFinishedByTheNextProcess() throws IOException {
        Path a = Files.writeString(in.resolve("a.txt"), document(9).repeat(400));
        run(out, options(0.2, 1000, 1), a);
        Map<String, byte[]> whole = files(out);
        assertThat(whole).hasSizeGreaterThan(3);
        Files.writeString(out.resolve("set_train_000099.bin"), "of an older text");
        Files.writeString(out.resolve("tokenize.commit"), String.join("\n", whole.keySet()));
        Files.writeString(out.resolve("tokenize.documents.part"), "what --shuffle keeps meanwhile");
        for (String name : List.copyOf(whole.keySet()).subList(1, whole.size())) {
            Files.move(out.resolve(name), out.resolve(name + ".part"));
        }
        assertRefused(() -> ids(Split.TRAIN), "a process is replacing the shards of ", ", or was killed while it did");
        assertRefused(() -> new Tokenizer(out, options(0.2, 1000, 1)), "there are shards already");
        assertThat(files(out))
                .containsOnlyKeys(whole.keySet())
                .allSatisfy((name, bytes) -> assertThat(bytes).isEqualTo(whole.get(name)));
    }

    /** SIGTERM closes the tokenizer in a thread of its own and then ends the process: the rest was left to the next one. */
    @Test
    void closingWaitsForACommitThatHasBegun() throws Exception {
        Path a = Files.writeString(in.resolve("a.txt"), document(9).repeat(100));
        boolean met = false;
        for (int attempt = 0; !met; attempt++) { // other work may keep the thread from seeing so short a moment
            assertThat(attempt).as("attempts").isLessThan(20);
            out = directory.resolve("attempt" + attempt);
            met = closesDuringTheCommit(a);
        }
    }

    private boolean closesDuringTheCommit(Path a) throws InterruptedException {
        Set<String> closed = new TreeSet<>();
        AtomicBoolean over = new AtomicBoolean();
        Tokenizer tokenizer = new Tokenizer(out, options(0.2, 20, 1));
        Thread closes = Thread.ofPlatform().start(() -> {
            while (!Commit.pending(out)) {
                if (over.get()) {
                    return;
                }
                Thread.onSpinWait();
            }
            tokenizer.close();
            closed.addAll(List.of(out.toFile().list()));
        });
        tokenizer.run(List.of(a.toString()), progress -> {});
        over.set(true);
        closes.join();
        if (closed.isEmpty()) {
            return false;
        }
        assertThat(closed).as("renamed one after the other").hasSizeGreaterThan(200);
        assertThat(closed).noneMatch(name -> name.endsWith(".part") || name.endsWith(".commit"));
        return true;
    }

    /** The names stand in a file, and a file may hold anything. */
    @Test
    void aCommitNamesShardsOfItsDirectoryOnly() throws IOException {
        Path outside = Files.writeString(in.resolve("x.part"), "stays");
        Files.createDirectories(out);
        Files.writeString(out.resolve("tokenize.commit"), "../" + in.getFileName() + "/x");
        assertRefused(() -> new Tokenizer(out, options(0, 1000, 1)), "which is no shard of this directory");
        assertThat(outside).hasContent("stays");
        assertThat(in.resolve("x")).doesNotExist();
    }

    /** The one that said it was done had the other's text. */
    @Test
    void oneProcessWritesToADirectory() throws IOException {
        Path a = Files.writeString(in.resolve("a.txt"), "text");
        Path link = Files.createSymbolicLink(in.resolve("link"), out);
        try (Tokenizer _ = new Tokenizer(out, options(0, 1000, 1))) {
            for (Path again : List.of(out, link)) {
                assertRefused(
                        () -> new Tokenizer(again, options(0, 1000, 1)),
                        "another process is writing shards to " + again);
                assertThat(locking("tokenize.lock")).as("still locked").contains("BlockingIOError");
            }
        }
        run(out, options(0, 1000, 1), a);
    }

    /** What another process says that locks a file of the directory. */
    private String locking(String file) throws IOException {
        String lock = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'w'), fcntl.LOCK_EX | fcntl.LOCK_NB)";
        Process process = new ProcessBuilder(
                        "python3", "-c", lock, out.resolve(file).toString())
                .redirectErrorStream(true)
                .start();
        return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }

    /** One text file, which is what most people have, gave no validation shard, and training failed for it. */
    @Test
    void oneLongTextGivesItsEndToValidation() throws IOException {
        String text = joined(2000, i -> "line " + i + "\n");
        Path file = Files.writeString(in.resolve("a.txt"), text);
        Result result = run(out, holding(0.1, 100, IN_ORDER, 3000), file);
        int all = text.length() + 1, held = (int) Math.ceil(0.1 * all);
        assertThat(result.moved()).isEqualTo(held);
        assertThat(result.validation().tokens()).isEqualTo(held);
        assertThat(result.train().tokens()).isEqualTo(all - held + 1); // the separator before the end is one more
        assertThat(result.train().files()).hasSize((all - held + 3000) / 3000);
        assertThat(documents(Split.TRAIN).getFirst()
                        + documents(Split.VALIDATION).getFirst())
                .isEqualTo(text);
    }

    /** At a boundary of shards nothing of the first one touched is left. */
    @Test
    void wholeShardsMayMoveToValidation() throws IOException {
        Path file = Files.writeString(in.resolve("a.txt"), "x".repeat(999));
        run(out, holding(0.2, 301, IN_ORDER, 100), file);
        assertThat(files(out).keySet())
                .filteredOn(name -> name.contains("train"))
                .hasSize(7);
        assertThat(ids(Split.VALIDATION)).hasSize(301);
        assertThat(ids(Split.TRAIN)).hasSize(700);
    }

    @Test
    void tooShortATextForBothIsRefused() throws IOException {
        Path file = Files.writeString(in.resolve("a.txt"), "x".repeat(150));
        assertRefused(
                () -> run(out, holding(0.1, 100, IN_ORDER, 1000), file),
                "151 tokens in all",
                "at least 100 each",
                "--validation 0");
        assertThat(out).as("it was left empty").doesNotExist();
        Files.createDirectory(out);
        assertRefused(() -> run(out, holding(0.1, 100, IN_ORDER, 1000), file), "nothing was written");
        assertThat(out).as("the user's own").isEmptyDirectory();
        run(out, holding(0, 100, IN_ORDER, 1000), file);
        assertThat(ids(Split.TRAIN)).hasSize(151);
    }

    @Test
    void aSeedShufflesDocumentsAndNothingElse() throws IOException {
        Files.writeString(
                in.resolve("a.jsonl"),
                joined(500, i -> "{\"text\": \"" + "ab".repeat(i == 77 ? 80_000 : 1) + i + "\"}\n"));
        List<List<String>> orders = new ArrayList<>(), held = new ArrayList<>();
        for (OptionalLong seed : List.of(IN_ORDER, OptionalLong.of(1), OptionalLong.of(1), OptionalLong.of(2))) {
            out = directory.resolve("shuffle" + orders.size()).resolve("set");
            run(out, holding(0.1, 1, seed, 1_000_000), in);
            orders.add(documents(Split.TRAIN));
            held.add(documents(Split.VALIDATION));
            assertThat(files(out)).hasSize(2); // nothing is left of the documents kept meanwhile
        }
        assertThat(orders.get(1)).containsExactlyElementsOf(orders.get(2)).isNotEqualTo(orders.get(0));
        assertThat(orders.get(3)).isNotEqualTo(orders.get(1)).containsExactlyInAnyOrderElementsOf(orders.get(0));
        assertThat(held.get(3)).containsExactlyInAnyOrderElementsOf(held.get(0));
    }

    @Test
    void badLinesAreSkippedAndCountedOnRequest() throws IOException {
        Files.writeString(
                in.resolve("a.jsonl"), "{\"text\": \"one\"}\n{\"text\": \n[1]\n{\"body\": 1}\n{\"text\": \"two\"}\n");
        Files.write(in.resolve("b.txt"), "three\ncaf\u00e9\nfour\n".getBytes(StandardCharsets.ISO_8859_1));
        Result result = run(out, holding(0, 0, IN_ORDER, 1000), in);
        assertThat(result.skipped()).isEqualTo(4);
        assertThat(result.firstSkipped()).contains("a.jsonl, line 2: broken JSON");
        assertThat(documents(Split.TRAIN)).containsExactly("one", "two", "three\nfour\n");
    }

    @Test
    void theTextMayBeInAnotherField() throws IOException {
        Path file = Files.writeString(in.resolve("a.jsonl"), "{\"text\": \"no\", \"body\": \"yes\"}\n");
        Options o = options(0, 1000, 1);
        run(out, new Options(Vocabulary.BYTES, "body", false, o.held(), o.shuffle(), 1000, false, 1), file);
        assertThat(documents(Split.TRAIN)).containsExactly("yes");
        out = directory.resolve("other");
        refused(
                "has no string \"text\"; name the field that holds the text with --field",
                Files.writeString(in.resolve("b.jsonl"), "{\"body\": \"x\"}\n"));
    }
}
