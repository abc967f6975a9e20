package hypertransfer.engine.cpu;

import hypertransfer.engine.cpu.thread.Pool;
import hypertransfer.engine.cpu.thread.Task;
import hypertransfer.engine.cpu.vector.Lanes;

/** A few rows added to many, over and over, and the sums back. A piece is some columns of all rows, so each sum has one order. */
final class Shift implements Task {
    private static final int COLUMNS = 64;

    private final Pool pool;
    private boolean backward;
    private int rows, cols, period;
    private long many, few;

    Shift(Pool pool) {
        this.pool = pool;
    }

    void run(boolean backward, int rows, int cols, int period, long many, long few) {
        this.backward = backward;
        this.rows = rows;
        this.cols = cols;
        this.period = period;
        this.many = many;
        this.few = few;
        pool.run(this, (cols + COLUMNS - 1) / COLUMNS);
    }

    @Override
    public void piece(int piece, int worker) {
        int first = piece * COLUMNS, count = Math.min(COLUMNS, cols - first);
        for (int n = 0; n < rows; n++) {
            long one = many + 4L * ((long) n * cols + first), other = few + 4L * ((long) (n % period) * cols + first);
            Lanes.add(backward ? one : other, backward ? other : one, count);
        }
    }
}
