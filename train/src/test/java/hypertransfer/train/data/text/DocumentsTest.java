package hypertransfer.train.data.text;

import static hypertransfer.train.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;

import com.knuddels.jtokkit.Encodings;
import com.knuddels.jtokkit.api.Encoding;
import com.knuddels.jtokkit.api.EncodingType;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DocumentsTest {
    private static final Encoding JTOKKIT = Encodings.newLazyEncodingRegistry().getEncoding(EncodingType.R50K_BASE);

    private static List<Piece> pieces(String text, boolean json, int piece) throws IOException {
        List<Piece> pieces = new ArrayList<>();
        var in = new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
        try (Documents documents = new Documents("x", in, json, piece)) {
            for (Piece next = documents.next(); next != null; next = documents.next()) {
                pieces.add(next);
            }
        }
        return pieces;
    }

    /** The documents of a text, put together from pieces of about that many bytes. */
    private static List<String> documents(String text, int piece) throws IOException {
        List<String> documents = new ArrayList<>();
        for (Piece next : pieces(text, false, piece)) {
            String part = new String(next.bytes(), StandardCharsets.UTF_8);
            assertThat(part).isNotEmpty();
            documents.add(next.opens() ? part : documents.removeLast() + part);
        }
        return documents;
    }

    @Test
    void separatorLinesPartDocumentsWhateverThePieces() throws IOException {
        String end = "<|endoftext|>";
        for (int piece = 3; piece < 60; piece++) {
            assertThat(documents("one\ntwo\n" + end + "\nthree\n" + end + "\n", piece))
                    .containsExactly("one\ntwo\n", "three\n");
            assertThat(documents(end + "\n" + end + "\r\nfour five\r\n" + end + "\r\nsix", piece))
                    .containsExactly("four five\r\n", "six");
            String within = "a " + end + "\n" + end + " b\n " + end + "\n" + end + end + "\n";
            assertThat(documents(within, piece)).containsExactly(within);
            assertThat(documents("last\n" + end, piece)).containsExactly("last\n");
            assertThat(documents("", piece)).isEmpty();
            assertThat(documents("\ufeffmarked text", piece)).containsExactly("marked text");
        }
    }

    @Test
    void piecesHaveTheTokensOfTheWhole() throws IOException {
        String[] atoms =
                (" ¦  ¦\n¦\n\n¦\t¦\r\n¦\u00a0¦\u2003¦\u3000¦\u0085¦\u1680¦a¦don't¦'s¦I'll¦'¦'re¦42¦3.14¦...¦word¦Word"
                                + "¦naïve¦。¦漢字¦\u200b¦—¦😀¦\u0000¦\u001c¦<|endoftext|>¦x¦!¦\u0301")
                        .split("¦");
        long seed = Long.getLong("ht.seed", 20240520);
        Random random = new Random(seed);
        int cuts = 0;
        for (int round = 0; round < 400; round++) {
            StringBuilder text = new StringBuilder();
            while (text.length() < 400) {
                text.append(atoms[random.nextInt(atoms.length)]);
            }
            String whole = documents(text.toString(), 1 << 12).getFirst();
            List<Piece> pieces = pieces(whole, false, 8 + random.nextInt(60));
            cuts += pieces.size() - 1;
            int[] apart = pieces.stream()
                    .flatMap(piece -> piece.tokenize(Vocabulary.GPT2, "text", false).documents().stream())
                    .flatMapToInt(ids -> Arrays.stream(ids.ids()))
                    .toArray();
            assertThat(apart)
                    .as("seed %d, round %d", seed, round)
                    .containsExactly(JTOKKIT.encodeOrdinary(whole).toArray());
        }
        assertThat(cuts).isGreaterThan(1000);
    }

    @Test
    void ordinaryTextIsCutNearTheSizeAskedFor() throws IOException {
        String text = "the quick brown fox\n".repeat(1000);
        assertThat(pieces(text, false, 1000)).hasSizeBetween(20, 22);
        assertThat(pieces("漢字。\n".repeat(1000), false, 1000)).hasSizeBetween(11, 13);
        assertThat(pieces("x".repeat(5000), false, 1000)).hasSize(1);
    }

    @Test
    void piecesKnowTheirLine() throws IOException {
        String text = "one 1\ntwo 2\n<|endoftext|>\nfour 4\nfive 5\n".repeat(50);
        List<String> lines = List.of("one 1", "two 2", "<|endoftext|>", "four 4", "five 5");
        List<Piece> pieces = pieces(text, false, 24);
        assertThat(pieces).hasSizeGreaterThan(100);
        for (Piece piece : pieces) {
            long line = piece.line();
            for (String part : new String(piece.bytes(), StandardCharsets.UTF_8).split("\n", -1)) {
                // A piece may hold the end of a line or its beginning; a part is never of another line.
                assertThat(lines.get((int) ((line++ - 1) % 5))).matches(at -> part.isEmpty() || at.contains(part));
            }
        }
    }

    @Test
    void aLineOfJsonIsADocument() throws IOException {
        String text = """
                {"id": 1, "text": "one\\ntwo \\u00e9 \\ud83d\\ude00", "meta": {"text": "not this"}}

                {"text": "", "more": [1, 2]}
                {"meta": [{"text": 3}], "text": "last"}""";
        for (int piece = 3; piece < 300; piece += 7) {
            List<String> documents = pieces(text, true, piece).stream()
                    .flatMap(p -> p.tokenize(Vocabulary.BYTES, "text", false).documents().stream())
                    .peek(ids -> assertThat(ids.opens()).isTrue())
                    .map(ids -> Vocabulary.BYTES.decode(ids.ids()))
                    .toList();
            assertThat(documents).containsExactly("one\ntwo é 😀", "last");
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            {"text": "cut
            {"text": 7}
            {"body": "x"}
            ["text"]
            {"text": "a"} {"text": "b"}
            {"text": "half \\ud83d"}
            text
            """)
    void namesTheLineOfBrokenJson(String line) {
        String text = "{\"text\": \"good\"}\n".repeat(30) + "\n" + line + "\n{\"text\": \"good\"}\n";
        for (int piece : new int[] {20, 100, 10_000}) {
            assertRefused(() -> pieces(text, true, piece).forEach(p -> p.tokenize(Vocabulary.GPT2, "text", false)))
                    .hasMessageStartingWith("x, line 32: ");
        }
    }

    @Test
    void namesTheLineOfInvalidUtf8() throws IOException {
        byte[] bytes = "fine\nfine é\nbad X here\n".getBytes(StandardCharsets.UTF_8);
        bytes[17] = (byte) 0xff;
        Piece text = new Piece("x", 10, bytes, false, true);
        assertRefused(() -> text.tokenize(Vocabulary.BYTES, "text", false), "x, line 12: byte 0xff is not UTF-8");
        Piece cut = new Piece("x", 1, new byte[] {'a', (byte) 0xc3}, false, true);
        assertRefused(() -> cut.tokenize(Vocabulary.GPT2, "text", false), "line 1: byte 0xc3");
    }
}
