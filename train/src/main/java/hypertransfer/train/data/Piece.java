package hypertransfer.train.data;

import hypertransfer.core.Refusal;
import hypertransfer.train.file.Strict;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.json.JsonFactory;

/**
 * Some bytes of an input: part of one document, or lines of JSON with a document each.
 *
 * @param line the line of the source they start in, from 1
 * @param opens whether they begin a document (lines of JSON always do)
 */
record Piece(String source, long line, byte[] bytes, boolean json, boolean opens) {
    private static final JsonFactory JSON = new JsonFactory();

    /** The ids of one document, or of a later part of one. */
    record Ids(boolean opens, int[] ids) {}

    List<Ids> tokenize(Vocabulary vocabulary) {
        if (!json) {
            return List.of(new Ids(opens, vocabulary.encode(decode(0, bytes.length, line))));
        }
        List<Ids> documents = new ArrayList<>();
        long number = line;
        for (int from = 0, to; from < bytes.length; from = to + 1, number++) {
            to = from;
            while (to < bytes.length && bytes[to] != '\n') {
                to++;
            }
            String text = text(decode(from, to, number), number);
            if (!text.isEmpty()) {
                documents.add(new Ids(true, vocabulary.encode(text)));
            }
        }
        return documents;
    }

    /** The field "text" of a line; nothing of a blank line. */
    private String text(String object, long number) {
        if (object.isBlank()) {
            return "";
        }
        String text = null;
        try (JsonParser parser = JSON.createParser(ObjectReadContext.empty(), object)) {
            if (parser.nextToken() != JsonToken.START_OBJECT) {
                throw new Refusal(place(number) + "the line is not a JSON object; every line of a .jsonl file must be "
                        + "one, with a field \"text\"");
            }
            while (parser.nextToken() == JsonToken.PROPERTY_NAME) {
                boolean wanted = parser.currentName().equals("text");
                JsonToken value = parser.nextToken();
                if (wanted && value == JsonToken.VALUE_STRING) {
                    text = parser.getString();
                } else {
                    parser.skipChildren();
                }
            }
            if (parser.nextToken() != null) {
                throw new Refusal(place(number) + "more than one JSON value; give each its own line");
            }
        } catch (JacksonException e) {
            throw new Refusal(place(number) + "broken JSON: " + Strict.reason(e) + "; mend or remove the line", e);
        }
        if (text == null) {
            throw new Refusal(
                    place(number) + "the object has no string \"text\"; rename the field that holds the text");
        }
        if (!StandardCharsets.UTF_8.newEncoder().canEncode(text)) {
            throw new Refusal(place(number) + "half of a surrogate pair is not text; mend or remove the line");
        }
        return text;
    }

    private String decode(int from, int to, long number) {
        CharsetDecoder decoder = StandardCharsets.UTF_8.newDecoder(); // reports what is malformed
        ByteBuffer in = ByteBuffer.wrap(bytes, from, to - from);
        CharBuffer out = CharBuffer.allocate(to - from);
        CoderResult result = decoder.decode(in, out, true);
        if (!result.isUnderflow()) {
            long at = number;
            for (int i = from; i < in.position(); i++) {
                at += bytes[i] == '\n' ? 1 : 0;
            }
            throw new Refusal(place(at)
                    + String.format(
                            Locale.ROOT,
                            "byte 0x%02x is not UTF-8; convert the file, or remove the line",
                            bytes[in.position()]));
        }
        return out.flip().toString();
    }

    private String place(long number) {
        return source + ", line " + number + ": ";
    }
}
