package hypertransfer.train.run;

import java.nio.file.Path;

/** Someone who follows a run. Every method may be left out. */
public interface Watcher {

    /** Everything is allocated and about to begin at {@code step}. */
    default void started(Trainee trainee, int step) {}

    default void stepped(int step, double loss, double seconds, long tokens) {}

    default void validated(int step, double loss) {}

    default void saved(int step, Path checkpoint) {}

    /** Something the user should know. */
    default void warned(String sentence) {}
}
