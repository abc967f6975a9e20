package hypertransfer.train.optimizer;

import hypertransfer.core.Refusal;
import hypertransfer.train.Word;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Outline;
import java.util.Arrays;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What counts as a matrix: a hidden matrix, or each of its parts, with a norm, a radius, a momentum and an
 * orthogonalisation of its own.
 *
 * @param kind what down and across are taken from
 * @param down parts one below the other, of {@link Kind#BLOCKS}
 * @param across parts beside each other, of {@link Kind#BLOCKS}
 */
public record View(Kind kind, int down, int across) {
    public static final View WHOLE = new View(Kind.WHOLE, 1, 1);

    private static final String WEIGHT = ".weight";

    private static final Pattern BLOCKS = Pattern.compile("blocks:(\\d{1,6})x(\\d{1,6})");

    public enum Kind {
        WHOLE,
        /** Queries, keys and values by the rows of each head, the output projection by its columns; all else whole. */
        HEADS,
        BLOCKS
    }

    /** {@code whole}, {@code heads}, {@code blocks:2x1}: two parts, one below the other. */
    public static View parse(String text) {
        Matcher blocks = BLOCKS.matcher(text);
        if (text.equals("whole")) {
            return WHOLE;
        } else if (text.equals("heads")) {
            return new View(Kind.HEADS, 1, 1);
        } else if (blocks.matches() && Integer.parseInt(blocks.group(1)) > 0 && Integer.parseInt(blocks.group(2)) > 0) {
            return new View(Kind.BLOCKS, Integer.parseInt(blocks.group(1)), Integer.parseInt(blocks.group(2)));
        }
        throw new Refusal(
                "matrices.view is '" + text
                        + "'; it must be whole, heads or blocks:DOWNxACROSS, such as blocks:1x2 for the left and the right half");
    }

    public String text() {
        return Word.of(kind) + (kind == Kind.BLOCKS ? ":" + down + "x" + across : "");
    }

    /**
     * How a hidden matrix is cut: whole, or in blocks.
     *
     * @param head the width of a head
     */
    public View of(Outline matrix, int head) {
        int rows = matrix.rows(), cols = matrix.cols();
        View cut = kind != Kind.HEADS
                ? this
                : switch (matrix.kind()) {
                    case Q, K, V -> new View(Kind.BLOCKS, rows / head, 1);
                    case O -> new View(Kind.BLOCKS, 1, cols / head);
                    default -> WHOLE;
                };
        if (rows % cut.down != 0 || cols % cut.across != 0) {
            throw new Refusal(
                    "matrices.view is " + text() + ", and " + matrix.name() + " has " + rows + " rows and " + cols
                            + " columns, which it does not divide; choose divisors, or name the matrices in matrices.groups");
        }
        return cut;
    }

    /** The parts of what {@link #of} returns. */
    int count() {
        return down * across;
    }

    /**
     * Of every number of a matrix, the number of the part that it belongs to.
     *
     * @param head the width of a head
     */
    public int[] parts(Outline matrix, int head) {
        View cut = of(matrix, head);
        int cols = matrix.cols(), high = matrix.rows() / cut.down, wide = cols / cut.across;
        int[] parts = new int[Math.toIntExact(matrix.size())];
        Arrays.setAll(parts, i -> i / cols / high * cut.across + i % cols / wide);
        return parts;
    }

    /**
     * Whether the loss does not depend on the scale of such a matrix, nor on that of its parts: a norm follows every head,
     * not every part.
     */
    public boolean invariant(Architecture network, Outline.Kind matrix) {
        return network.invariant(matrix) && (kind == Kind.WHOLE || kind == Kind.HEADS && matrix != Outline.Kind.O);
    }

    /** The name of a part: {@code blocks.0.attn.q#3.weight} of {@code blocks.0.attn.q.weight}. */
    public static String part(String matrix, int k) {
        int end = matrix.endsWith(WEIGHT) ? matrix.length() - WEIGHT.length() : matrix.length();
        return matrix.substring(0, end) + "#" + k + matrix.substring(end);
    }
}
