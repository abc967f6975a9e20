package hypertransfer.engine.cpu;

import hypertransfer.engine.cpu.thread.Pool;
import hypertransfer.engine.cpu.thread.Task;
import hypertransfer.engine.cpu.vector.Lanes;

/** Rows of a table by token, and their gradients back into it. */
final class Embedding implements Task {
    /** Each piece serves the tokens of one residue, in order: every row of the table has one writer. */
    private static final int PIECES = 16;

    private final Pool pool;
    private boolean backward;
    private int[] tokens;
    private int cols;
    private long table, x;

    Embedding(Pool pool) {
        this.pool = pool;
    }

    void forward(int[] tokens, int cols, long table, long x) {
        run(false, tokens, cols, table, x);
    }

    void backward(int[] tokens, int cols, long dx, long dtable) {
        run(true, tokens, cols, dtable, dx);
    }

    private void run(boolean backward, int[] tokens, int cols, long table, long x) {
        this.backward = backward;
        this.tokens = tokens;
        this.cols = cols;
        this.table = table;
        this.x = x;
        pool.run(this, PIECES);
    }

    @Override
    public void piece(int piece, int worker) {
        for (int n = 0; n < tokens.length; n++) {
            if (tokens[n] % PIECES == piece) {
                long row = table + 4L * tokens[n] * cols, activation = x + 4L * n * cols;
                if (backward) {
                    Lanes.add(activation, row, cols);
                } else {
                    Lanes.copy(row, activation, 4L * cols);
                }
            }
        }
    }
}
