package hypertransfer.engine.cpu;

import hypertransfer.engine.cpu.thread.Pool;
import hypertransfer.engine.cpu.thread.Task;
import hypertransfer.engine.cpu.vector.Lanes;

/** Rows of a table by token, and their gradients back into it. */
final class Embedding {
    /** Each piece serves the tokens of one residue, in order: every row of the table has one writer. */
    private static final int PIECES = 16;

    private final Pool pool;
    private final Task forward = this::forward;
    private final Task backward = this::backward;
    private int[] tokens;
    private int cols;
    private long table, x;

    Embedding(Pool pool) {
        this.pool = pool;
    }

    void forward(int[] tokens, int cols, long table, long x) {
        run(forward, tokens, cols, table, x);
    }

    void backward(int[] tokens, int cols, long dx, long dtable) {
        run(backward, tokens, cols, dtable, dx);
    }

    private void run(Task task, int[] tokens, int cols, long table, long x) {
        this.tokens = tokens;
        this.cols = cols;
        this.table = table;
        this.x = x;
        pool.run(task, PIECES);
    }

    private void forward(int piece, int worker) {
        for (int n = 0; n < tokens.length; n++) {
            if (tokens[n] % PIECES == piece) {
                Lanes.copy(table + 4L * tokens[n] * cols, x + 4L * n * cols, 4L * cols);
            }
        }
    }

    private void backward(int piece, int worker) {
        for (int n = 0; n < tokens.length; n++) {
            if (tokens[n] % PIECES == piece) {
                Lanes.add(x + 4L * n * cols, table + 4L * tokens[n] * cols, cols);
            }
        }
    }
}
