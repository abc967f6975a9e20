package hypertransfer.train.data;

import static hypertransfer.train.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.train.data.text.Vocabulary;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CorpusTest {
    @TempDir
    private Path directory;

    private Path shard(String name, int from, int count) {
        return ShardFile.range(directory.resolve(name), from, count);
    }

    private static int[] all(Corpus corpus) {
        int[] all = new int[(int) corpus.count()];
        corpus.read(0, all, 0, all.length);
        return all;
    }

    private static Corpus open(Split split, Object... places) {
        return Corpus.open(List.of(places).stream().map(Object::toString).toList(), split, 256);
    }

    @Test
    void aDirectoryStandsForItsSplit() {
        shard("a_train_000002.bin", 10, 2);
        shard("a_train_000001.bin", 0, 3);
        shard("a_val_000000.bin", 50, 2);
        shard("other.bin", 99, 1);
        try (Corpus train = open(Split.TRAIN, directory);
                Corpus validation = open(Split.VALIDATION, directory)) {
            assertThat(all(train)).containsExactly(0, 1, 2, 10, 11);
            assertThat(all(validation)).containsExactly(50, 51);
        }
    }

    @Test
    void filesAndPatternsKeepTheirOrder() {
        Path b = shard("b.bin", 20, 1);
        shard("x1.bin", 1, 1);
        shard("x2.bin", 2, 1);
        try (Corpus corpus = open(Split.TRAIN, b, directory.resolve("x?.bin"), b)) {
            assertThat(all(corpus)).containsExactly(20, 1, 2, 20);
            assertThat(corpus.names()).hasSize(4).first().isEqualTo(b.toString());
        }
    }

    @Test
    void readsAcrossShardsFromAnyPlace() {
        Path empty = shard("empty.bin", 0, 0);
        try (Corpus corpus =
                open(Split.TRAIN, shard("a.bin", 0, 3), empty, shard("b.bin", 3, 1), shard("c.bin", 4, 6))) {
            for (int from = 0; from < 10; from++) {
                for (int count = 0; from + count <= 10; count++) {
                    int[] into = new int[count];
                    corpus.read(from, into, 0, count);
                    for (int i = 0; i < count; i++) {
                        assertThat(into[i]).isEqualTo(from + i);
                    }
                }
            }
        }
    }

    @Test
    void refusesAnEmptyCorpus() {
        assertRefused(() -> open(Split.TRAIN), "no shards were named");
        shard("a_val_000000.bin", 0, 1);
        assertRefused(() -> open(Split.TRAIN, directory), directory.toString(), "*_train_*.bin", "ht data tokenize");
        assertRefused(() -> open(Split.TRAIN, directory.resolve("y*.bin")), "y*.bin");
        assertRefused(() -> open(Split.TRAIN, directory.resolve("none").resolve("y*.bin")), "cannot list");
    }

    @Test
    void refusesItsFirstBadShard() {
        Path good = shard("a.bin", 0, 3), bad = shard("b.bin", 254, 3);
        try (Corpus corpus = open(Split.TRAIN, good, bad)) { // nothing is searched at the start
            int[] ids = new int[6];
            corpus.read(0, ids, 0, 5);
            assertRefused(() -> corpus.read(0, ids, 0, 6), bad + ": token 2 (byte 1028) is 256");
        }
    }

    private static int[] demo(Split split) {
        try (Corpus corpus = DemoText.corpus(split)) {
            return all(corpus);
        }
    }

    @Test
    void theDemosTextIsTheOneItsNoteNames() throws Exception {
        try (var in = new GZIPInputStream(DemoText.class.getResourceAsStream("sotu.txt.gz"));
                var note = DemoText.class.getResourceAsStream("sotu.md")) {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(in.readAllBytes());
            assertThat(new String(note.readAllBytes(), StandardCharsets.UTF_8))
                    .contains(HexFormat.of().formatHex(digest));
        }
    }

    @Test
    void theDemosTextIsSplitByDocument() {
        int[] train = demo(Split.TRAIN), validation = demo(Split.VALIDATION);
        assertThat(Arrays.stream(train).filter(id -> id == 0).count()).isEqualTo(74);
        assertThat(Arrays.stream(validation).filter(id -> id == 0).count()).isEqualTo(4);
        // All bytes of the text except 78 separator lines, which became 78 separators.
        assertThat(train.length + validation.length).isEqualTo(2_846_429 - 78 * 14 + 78);
        assertThat(validation.length).isBetween(50_000, 300_000);
        assertThat(Arrays.stream(train).max().orElseThrow()).isLessThan(256);
        assertThat(Vocabulary.BYTES.decode(Arrays.copyOf(train, 37)))
                .isEqualTo("<|endoftext|>To the Congress of the United States");
        assertThat(Vocabulary.BYTES.decode(train))
                .doesNotContain(Vocabulary.BYTES.decode(Arrays.copyOf(validation, 500)));
    }
}
