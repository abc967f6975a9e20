package hypertransfer.train.data.text;

import hypertransfer.core.Refusal;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Cuts an input into pieces that can be tokenized apart, each in its own thread, with the same tokens as the whole. A
 * document longer than a piece is cut where GPT-2's pattern always ends a word: before a space or line break that
 * follows something else. No alternative of the pattern crosses that place, and none looks back over it.
 */
public final class Documents implements AutoCloseable {
    public static final byte[] SEPARATOR = "<|endoftext|>".getBytes(StandardCharsets.US_ASCII);

    public static final int PIECE = 1 << 18; // bytes; a longer one only where it cannot be cut
    private static final int LARGEST = 1 << 30;
    private static final byte[] BYTE_ORDER_MARK = {(byte) 0xef, (byte) 0xbb, (byte) 0xbf};

    private final String source;
    private final InputStream in;
    private final boolean json;
    private byte[] buffer;
    private int start;
    private int end;
    private boolean exhausted;
    private boolean opens = true; // a document begins at start
    private boolean lineOpens = true; // a line begins at start
    private long line = 1;

    /**
     * @param json whether each line is a document, as in a JSON Lines file; else documents are what stands between lines that
     *     are exactly the separator
     */
    public Documents(String source, InputStream in, boolean json, int piece) throws IOException {
        this.source = source;
        this.in = in;
        this.json = json;
        this.buffer = new byte[piece];
        fill();
        if (end >= 3 && Arrays.equals(buffer, 0, 3, BYTE_ORDER_MARK, 0, 3)) {
            start = 3;
        }
    }

    /** The next piece, never empty; null at the end. */
    public Piece next() throws IOException {
        while (start < end || !exhausted) {
            int separator = json ? -1 : separator();
            if (separator == start) {
                start = Math.min(end, endOfLine(start) + 1);
                line++;
                opens = true;
                lineOpens = true;
            } else if (separator > start) {
                return take(separator);
            } else if (!exhausted && end - start < buffer.length) {
                fill();
            } else {
                int cut = exhausted ? end : json ? lastLine() : cut();
                if (cut > start) {
                    return take(cut);
                }
                fill();
            }
        }
        return null;
    }

    private Piece take(int cut) {
        Piece piece = new Piece(source, line, Arrays.copyOfRange(buffer, start, cut), json, opens);
        for (int i = start; i < cut; i++) {
            line += buffer[i] == '\n' ? 1 : 0;
        }
        start = cut;
        opens = false;
        lineOpens = buffer[cut - 1] == '\n';
        return piece;
    }

    /** Moves what is left to the front and fills up behind it; a full buffer that could not be cut is doubled first. */
    private void fill() throws IOException {
        if (end - start == buffer.length) {
            if (buffer.length == LARGEST) {
                throw new Refusal(source + ", line " + line + ": " + LARGEST + " bytes without a "
                        + (json ? "line break" : "space or line break") + " are not text; name another file");
            }
            buffer = Arrays.copyOf(buffer, 2 * buffer.length);
        } else {
            System.arraycopy(buffer, start, buffer, 0, end - start);
            end -= start;
            start = 0;
        }
        int read = in.readNBytes(buffer, end, buffer.length - end);
        exhausted = read < buffer.length - end;
        end += read;
    }

    /** Where the first separator line in the buffer begins, or -1. */
    private int separator() {
        int at = lineOpens ? start : endOfLine(start) + 1;
        while (at < end) {
            int stop = endOfLine(at);
            if (stop == end && !exhausted) {
                return -1;
            }
            int length = stop > at && buffer[stop - 1] == '\r' ? stop - 1 - at : stop - at;
            if (length == SEPARATOR.length && Arrays.equals(buffer, at, at + length, SEPARATOR, 0, length)) {
                return at;
            }
            at = stop + 1;
        }
        return -1;
    }

    private int endOfLine(int at) {
        while (at < end && buffer[at] != '\n') {
            at++;
        }
        return at;
    }

    /** The last place in the buffer where a document can be cut; start where there is none. */
    private int cut() {
        for (int at = end - 1; at > start; at--) {
            if ((buffer[at] == ' ' || buffer[at] == '\n') && !followsSpace(at)) {
                return at;
            }
        }
        return start;
    }

    /** Whether the character before is white space, or cannot be told from it by a glance at its bytes. */
    private boolean followsSpace(int at) {
        int last = buffer[at - 1];
        if (last >= 0) {
            return last <= ' ';
        }
        int lead = at - 1;
        while (lead > start && (buffer[lead] & 0xc0) == 0x80) {
            lead--;
        }
        // Unicode's white space beyond ASCII begins with these bytes, as does other punctuation: U+0085, U+00A0,
        // U+1680, U+2000 to U+205F; and U+3000, which shares E3 80 with the full stop of Chinese.
        return switch (buffer[lead] & 0xff) {
            case 0xc2, 0xe1, 0xe2 -> true;
            case 0xe3 -> buffer[lead + 1] == (byte) 0x80 && last == (byte) 0x80;
            default -> false;
        };
    }

    /** Where the last line begins that may continue after the buffer. */
    private int lastLine() {
        int at = end;
        while (at > start && buffer[at - 1] != '\n') {
            at--;
        }
        return at;
    }

    @Override
    public void close() throws IOException {
        in.close();
    }
}
