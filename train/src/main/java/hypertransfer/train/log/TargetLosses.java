package hypertransfer.train.log;

import java.io.UncheckedIOException;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * The losses of the run that another one follows, asked for in the order of their steps while both may still be training.
 * It has one line in memory.
 */
public final class TargetLosses {
    private Tail target; // null where there is none, or where it cannot be read any more
    private Line theirs; // the line read last

    public TargetLosses(Optional<Run> target) {
        this.target = target.map(Run::metrics).orElse(null);
    }

    /** The loss of a line minus its loss at the same place; empty where it has none, or not yet. */
    public OptionalDouble gap(Line own) {
        try {
            while (target != null && (theirs == null || theirs.place() < own.place())) {
                Line next = target.next();
                if (next == null) {
                    return OptionalDouble.empty();
                }
                theirs = next;
            }
        } catch (UncheckedIOException e) { // a target that cannot be read any more must not end the run
            target = null;
        }
        return target != null && theirs.place() == own.place()
                ? OptionalDouble.of(own.loss() - theirs.loss())
                : OptionalDouble.empty();
    }
}
