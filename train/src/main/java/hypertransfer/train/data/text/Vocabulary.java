package hypertransfer.train.data.text;

import com.knuddels.jtokkit.Encodings;
import com.knuddels.jtokkit.api.Encoding;
import com.knuddels.jtokkit.api.EncodingType;
import com.knuddels.jtokkit.api.IntArrayList;
import hypertransfer.train.Word;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.stream.IntStream;

/** How text becomes token ids. */
public enum Vocabulary implements Word {
    /** GPT-2's 50257 tokens, the last of which stands before every document. */
    GPT2(50257, 50256),
    /** UTF-8's bytes. All 256 ids are taken: the zero byte, which text does not use, stands before every document. */
    BYTES(256, 0);

    public final int size;

    /** The id before every document. */
    public final int separator;

    Vocabulary(int size, int separator) {
        this.size = size;
        this.separator = separator;
    }

    /** Read only when first used: the table takes a moment. */
    private static final class Gpt2 {
        static final Encoding ENCODING = Encodings.newLazyEncodingRegistry().getEncoding(EncodingType.R50K_BASE);
    }

    /** The ids of a text; the spelling of a special token is text like any other. Any number of threads may call it. */
    public int[] encode(String text) {
        if (this == GPT2) {
            return Gpt2.ENCODING.encodeOrdinary(text).toArray();
        }
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        return IntStream.range(0, bytes.length).map(i -> bytes[i] & 0xff).toArray();
    }

    /**
     * The text of ids. A separator reads as {@code <|endoftext|>}, an id beyond the vocabulary (padding, which a network can
     * sample) as its number in brackets.
     */
    public String decode(int... ids) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        IntArrayList one = new IntArrayList(1);
        for (int id : ids) {
            if (id == separator) {
                bytes.writeBytes(Documents.SEPARATOR);
            } else if (id < 0 || id >= size) {
                bytes.writeBytes(("<" + id + ">").getBytes(StandardCharsets.UTF_8));
            } else if (this == BYTES) {
                bytes.write(id);
            } else {
                one.clear();
                one.add(id);
                bytes.writeBytes(Gpt2.ENCODING.decodeBytes(one));
            }
        }
        return bytes.toString(StandardCharsets.UTF_8);
    }

    public static Vocabulary parse(String label) {
        return Word.parse(Vocabulary.class, "token", label);
    }
}
