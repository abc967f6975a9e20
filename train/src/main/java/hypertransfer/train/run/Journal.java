package hypertransfer.train.run;

import hypertransfer.train.log.Hold;
import hypertransfer.train.log.Line;
import hypertransfer.train.log.Log;
import hypertransfer.train.log.Run;
import java.util.Arrays;

/** The files that grow while a run trains. Rank 0 writes them; at the other ranks there are none. */
final class Journal implements AutoCloseable {
    private final Log metrics;
    private final Log matrices;
    private final Events events;

    /**
     * Continues the files of a run.
     *
     * @param hold null at other ranks than 0
     */
    Journal(Hold hold, int step) {
        metrics = hold == null ? null : new Log(hold.run().file(Run.METRICS));
        matrices = hold == null ? null : new Log(hold.run().file(Run.MATRICES));
        events = hold == null ? null : new Events(hold.run().directory(), step);
    }

    void trained(Line.Training line) {
        if (metrics != null) {
            metrics.append(line);
            events.scalar(line.step(), "loss/train", line.loss());
            events.scalar(line.step(), "rate/matrices", line.rate());
        }
    }

    void validated(Line.Validation line) {
        if (metrics != null) {
            metrics.append(line);
            events.scalar(line.step(), "loss/validation", line.loss());
            if (!Double.isNaN(line.represented())) {
                events.scalar(line.step(), "loss/carrier_minus_represented", line.carrier() - line.represented());
            }
        }
    }

    void matrices(Line.Matrices line) {
        if (matrices != null) {
            matrices.append(line);
            double largest = Arrays.stream(line.radial()).map(Math::abs).max().orElse(Double.NaN);
            events.scalar(line.step(), "matrices/largest_radial", largest);
        }
    }

    /** Flushes all lines to disk. */
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
                events.close();
            }
        }
    }
}
