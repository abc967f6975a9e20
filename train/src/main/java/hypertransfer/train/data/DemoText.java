package hypertransfer.train.data;

import hypertransfer.train.data.text.Documents;
import hypertransfer.train.data.text.Piece;
import hypertransfer.train.data.text.Vocabulary;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.zip.GZIPInputStream;

/** The text inside the jar: 78 State of the Union addresses, as bytes. */
public final class DemoText {
    private static final String RESOURCE = "sotu.txt.gz";
    private static final int EVERY = 20; // one document in so many is for validation

    private static Map<Split, ByteArrayOutputStream> texts;

    private DemoText() {}

    /** A split of the text, by document; all ids are below 256. */
    public static Corpus corpus(Split split) {
        return new Corpus(List.of(Shard.of("the demo's text", texts().get(split).toByteArray())));
    }

    /** Read once: every run opens both splits. */
    private static synchronized Map<Split, ByteArrayOutputStream> texts() {
        if (texts == null) {
            texts = read();
        }
        return texts;
    }

    private static Map<Split, ByteArrayOutputStream> read() {
        Map<Split, ByteArrayOutputStream> splits = new EnumMap<>(Split.class);
        try (InputStream in = new GZIPInputStream(DemoText.class.getResourceAsStream(RESOURCE));
                Documents documents = new Documents(RESOURCE, in, false, Documents.PIECE)) {
            int index = -1;
            for (Piece piece = documents.next(); piece != null; piece = documents.next()) {
                index += piece.opens() ? 1 : 0;
                // Document 10 of every 20: the years in between are spread over the whole time.
                Split split = index % EVERY == EVERY / 2 ? Split.VALIDATION : Split.TRAIN;
                var bytes = splits.computeIfAbsent(split, s -> new ByteArrayOutputStream());
                if (piece.opens()) {
                    bytes.write(Vocabulary.BYTES.separator);
                }
                bytes.writeBytes(piece.bytes());
            }
        } catch (IOException e) {
            throw new UncheckedIOException("the jar's own text is damaged; install it again", e);
        }
        return splits;
    }
}
