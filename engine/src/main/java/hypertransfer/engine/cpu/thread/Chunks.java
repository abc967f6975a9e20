package hypertransfer.engine.cpu.thread;

import java.util.function.IntConsumer;

/** How rows are cut into pieces: only by their number, so that sums over rows come out the same on any machine. */
public final class Chunks {
    /** So few that their partial sums cost little, and enough for the cores of a desktop. */
    private static final int MOST = 64;

    private static final int LEAST_ROWS = 8;

    private Chunks() {}

    /** Does something to every row. */
    public static void each(Pool pool, int rows, IntConsumer row) {
        int chunk = rows(rows);
        pool.run(
                (piece, worker) -> {
                    for (int n = piece * chunk; n < Math.min(rows, (piece + 1) * chunk); n++) {
                        row.accept(n);
                    }
                },
                count(rows));
    }

    public static int rows(int rows) {
        return Math.max(LEAST_ROWS, (rows + MOST - 1) / MOST);
    }

    public static int count(int rows) {
        return (rows + rows(rows) - 1) / rows(rows);
    }
}
