package hypertransfer.train.run;

import hypertransfer.train.log.Line;

/** Someone who follows a run. Every method may be left out. */
public interface Watcher {
    /** Everything is allocated and about to begin at {@code step}. */
    default void started(Session session, int step) {}

    /** What the run's files get: the norms and rates of a step, where they are logged, come before the step itself. */
    default void logged(Line line) {}

    /**
     * A run that clips its gradients has ended or stopped.
     *
     * @param times the steps that were clipped, of so many
     * @param kept the mean part of the norm that was left in those
     */
    default void clipped(int times, int steps, double kept) {}

    /** Something the user should know. */
    default void warned(String sentence) {}
}
