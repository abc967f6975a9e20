package hypertransfer.train.run;

import hypertransfer.train.config.Configuration;
import hypertransfer.train.log.Line;
import hypertransfer.train.log.Log;
import hypertransfer.train.log.Run;
import hypertransfer.train.optimizer.Matrix;
import hypertransfer.train.tensorboard.Scalars;
import java.util.List;

/** The files of a run that grow while it trains. */
record Journal(Log metrics, Log matrices, Scalars scalars) implements AutoCloseable {
    /** Continues those of a run. */
    Journal(Run run, Configuration c, List<Matrix> matrices, int step) {
        this(new Log(run.file(Run.METRICS)), new Log(run.file(Run.MATRICES)), new Scalars(run, c, matrices, step));
    }

    void add(Line line) {
        (line instanceof Line.Matrices ? matrices : metrics).append(line);
        scalars.add(line);
    }

    void force() {
        metrics.force();
        matrices.force();
    }

    @Override
    public void close() {
        try (metrics;
                matrices) {
            scalars.close();
        }
    }
}
