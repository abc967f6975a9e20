package hypertransfer.train.run;

import hypertransfer.train.config.Configuration;
import hypertransfer.train.log.Line;
import hypertransfer.train.log.Log;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.RunLock;
import hypertransfer.train.optimizer.Matrix;
import hypertransfer.train.tensorboard.Scalars;
import java.util.List;

/** A run's lines as it trains: its files, which rank 0 writes, get them, and then the watcher. At the other ranks there are no files. */
final class Journal implements AutoCloseable {
    private final Log metrics;
    private final Log matrices;
    private final Scalars scalars;
    private final Watcher watcher;

    /**
     * Continues the files of a run.
     *
     * @param lock null at other ranks than 0
     */
    Journal(RunLock lock, Configuration c, List<Matrix> matrices, int step, Watcher watcher) {
        metrics = lock == null ? null : new Log(lock.run().file(Run.METRICS));
        this.matrices = lock == null ? null : new Log(lock.run().file(Run.MATRICES));
        scalars = lock == null ? null : new Scalars(lock.run(), c, matrices, step);
        this.watcher = watcher;
    }

    void add(Line line) {
        if (metrics != null) {
            (line instanceof Line.Matrices ? matrices : metrics).append(line);
            scalars.add(line);
        }
        watcher.logged(line);
    }

    void force() {
        if (metrics != null) {
            metrics.force();
            matrices.force();
        }
    }

    @Override
    public void close() {
        if (metrics != null) {
            try (metrics;
                    matrices) {
                scalars.close();
            }
        }
    }
}
