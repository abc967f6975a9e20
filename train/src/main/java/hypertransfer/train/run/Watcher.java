package hypertransfer.train.run;

import hypertransfer.train.log.Line;
import java.nio.file.Path;

/** Someone who follows a run. Every method may be left out. */
public interface Watcher {

    /** Everything is allocated and about to begin at {@code step}. */
    default void started(Session session, int step) {}

    default void stepped(int step, double loss, double seconds, long tokens) {}

    /** The norms and rates of a step that are logged, before it counts as stepped. */
    default void logged(Line.Matrices line) {}

    default void validated(int step, double loss) {}

    /**
     * A run that clips its gradients has ended or stopped.
     *
     * @param times the steps that were clipped, of so many
     * @param kept the mean part of the norm that was left in those
     */
    default void clipped(int times, int steps, double kept) {}

    default void saved(int step, Path checkpoint) {}

    /** Something the user should know. */
    default void warned(String sentence) {}
}
