package hypertransfer.engine.cpu;

import hypertransfer.engine.cpu.vector.Lanes;
import java.util.function.IntConsumer;

/** Rows of a table added to the rows of a batch, by token or over and over, and their gradients back into it. */
final class Embedding {
    /** Each piece serves the tokens of one residue, in order: every row of the table has one writer. */
    private static final int PIECES = 16;

    private static final int COLUMNS = 64;

    private Embedding() {}

    /** Does something to every place of a batch. */
    static void each(Pool pool, int[] tokens, IntConsumer place) {
        pool.run(PIECES, (piece, worker) -> {
            for (int n = 0; n < tokens.length; n++) {
                if (tokens[n] % PIECES == piece) {
                    place.accept(n);
                }
            }
        });
    }

    /** A few rows added to many, over and over, or back the sums. A piece is some columns of all rows, so each sum has one order. */
    static void repeated(Pool pool, boolean backward, int rows, int cols, int period, long many, long few) {
        pool.run(Math.ceilDiv(cols, COLUMNS), (piece, worker) -> {
            int first = piece * COLUMNS, count = Math.min(COLUMNS, cols - first);
            for (int n = 0; n < rows; n++) {
                long one = many + 4L * ((long) n * cols + first),
                        other = few + 4L * ((long) (n % period) * cols + first);
                Lanes.add(backward ? one : other, backward ? other : one, count);
            }
        });
    }
}
