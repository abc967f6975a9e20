package hypertransfer.train.data;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.train.data.text.Vocabulary;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;

class DemoTextTest {
    private static int[] ids(Split split) {
        try (Corpus corpus = DemoText.corpus(split)) {
            int[] ids = new int[(int) corpus.count()];
            corpus.read(0, ids, 0, ids.length);
            return ids;
        }
    }

    @Test
    void isTheTextItsNoteNames() throws Exception {
        try (var in = new GZIPInputStream(DemoText.class.getResourceAsStream("sotu.txt.gz"));
                var note = DemoText.class.getResourceAsStream("sotu.md")) {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(in.readAllBytes());
            assertThat(new String(note.readAllBytes(), StandardCharsets.UTF_8))
                    .contains(HexFormat.of().formatHex(digest));
        }
    }

    @Test
    void isSplitByDocument() {
        int[] train = ids(Split.TRAIN), validation = ids(Split.VALIDATION);
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
