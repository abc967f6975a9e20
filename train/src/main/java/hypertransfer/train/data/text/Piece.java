package hypertransfer.train.data.text;

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
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Some bytes of an input: part of one document, or lines of JSON with a document each.
 *
 * @param line the line of the source they start in, from 1
 * @param opens whether they begin a document (lines of JSON always do)
 */
public record Piece(String source, long line, byte[] bytes, boolean json, boolean opens) {
    /** The ids of one document, or of a later part of one. */
    public record Ids(boolean opens, int[] ids) {}

    /** @param skipped why each line was left out that could not be read */
    public record Outcome(List<Ids> documents, List<String> skipped) {}

    /**
     * @param field the field of a line of JSON that holds the text
     * @param skip whether a line that cannot be read is left out and counted; else it is refused
     */
    public Outcome tokenize(Vocabulary vocabulary, String field, boolean skip) {
        List<String> skipped = new ArrayList<>();
        if (!json) {
            return new Outcome(List.of(new Ids(opens, vocabulary.encode(plain(skip, skipped)))), skipped);
        }
        List<Ids> documents = new ArrayList<>();
        for (Span span : lines()) {
            try {
                String text = text(decode(span.from, span.to, span.number), field, span.number);
                if (!text.isEmpty()) {
                    documents.add(new Ids(true, vocabulary.encode(text)));
                }
            } catch (Refusal e) {
                if (!skip) {
                    throw e;
                }
                skipped.add(e.getMessage());
            }
        }
        return new Outcome(documents, skipped);
    }

    /** All of the bytes as text, without the lines that are not UTF-8 if those may be skipped. */
    private String plain(boolean skip, List<String> skipped) {
        try {
            return decode(0, bytes.length, line);
        } catch (Refusal e) {
            if (!skip) {
                throw e;
            }
        }
        StringBuilder text = new StringBuilder();
        for (Span span : lines()) {
            try {
                text.append(decode(span.from, Math.min(span.to + 1, bytes.length), span.number));
            } catch (Refusal e) {
                skipped.add(e.getMessage());
            }
        }
        return text.toString();
    }

    /** Bytes from..to-1, which are a line of the source without its end. */
    private record Span(int from, int to, long number) {}

    private List<Span> lines() {
        List<Span> lines = new ArrayList<>();
        for (int from = 0, to; from < bytes.length; from = to + 1) {
            to = from;
            while (to < bytes.length && bytes[to] != '\n') {
                to++;
            }
            lines.add(new Span(from, to, line + lines.size()));
        }
        return lines;
    }

    /** One field of a line; nothing of a blank line. */
    private String text(String object, String field, long number) {
        if (object.isBlank()) {
            return "";
        }
        String text;
        try (JsonParser parser = JsonMapper.shared().createParser(object)) {
            JsonNode line = parser.readValueAsTree();
            if (!line.isObject()) {
                throw new Refusal(place(number) + "the line is not a JSON object; every line of a .jsonl file must be "
                        + "one, with a field \"" + field + "\"");
            }
            text = line.path(field).stringValue(null);
            if (parser.nextToken() != null) {
                throw new Refusal(place(number) + "more than one JSON value; give each its own line");
            }
        } catch (JacksonException e) {
            throw new Refusal(place(number) + "broken JSON: " + Strict.reason(e) + "; repair or remove the line", e);
        }
        if (text == null) {
            throw new Refusal(place(number) + "the object has no string \"" + field
                    + "\"; name the field that holds the text with --field");
        }
        if (!StandardCharsets.UTF_8.newEncoder().canEncode(text)) {
            throw new Refusal(place(number) + "half of a surrogate pair is not text; repair or remove the line");
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
