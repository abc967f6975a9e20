package hypertransfer.engine.cpu;

import hypertransfer.engine.cpu.thread.Pool;
import hypertransfer.engine.cpu.thread.Task;
import hypertransfer.engine.cpu.vector.Lanes;

/** A few rows added to many, over and over, and the sums back. A piece is some columns of all rows, so each sum has one order. */
final class Shift {
    private static final int COLUMNS = 64;

    private Shift() {}

    static void run(Pool pool, boolean backward, int rows, int cols, int period, long many, long few) {
        Task columns = (piece, worker) -> {
            int first = piece * COLUMNS, count = Math.min(COLUMNS, cols - first);
            for (int n = 0; n < rows; n++) {
                long one = many + 4L * ((long) n * cols + first),
                        other = few + 4L * ((long) (n % period) * cols + first);
                Lanes.add(backward ? one : other, backward ? other : one, count);
            }
        };
        pool.run(columns, (cols + COLUMNS - 1) / COLUMNS);
    }
}
