package hypertransfer.train.run;

import hypertransfer.train.config.Configuration;
import hypertransfer.train.log.Line;
import hypertransfer.train.log.Log;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.RunLock;
import hypertransfer.train.optimizer.Matrix;
import hypertransfer.train.tensorboard.Scalars;
import java.util.List;

/** The files that grow while a run trains. Rank 0 writes them; at the other ranks there are none. */
final class Journal implements AutoCloseable {
    private final Log metrics;
    private final Log matrices;
    private final Scalars scalars;

    /**
     * Continues the files of a run.
     *
     * @param lock null at other ranks than 0
     */
    Journal(RunLock lock, Configuration c, List<Matrix> matrices, int step) {
        metrics = lock == null ? null : new Log(lock.run().file(Run.METRICS));
        this.matrices = lock == null ? null : new Log(lock.run().file(Run.MATRICES));
        scalars = lock == null ? null : new Scalars(lock.run(), c, matrices, step);
    }

    void add(Line line) {
        if (metrics != null) {
            (line instanceof Line.Matrices ? matrices : metrics).append(line);
            scalars.add(line);
        }
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
