package hypertransfer.train.log;

import java.io.UncheckedIOException;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * The losses of the run that another one follows, asked for in the order of their steps while both may still be training.
 * It begins at the first step asked for, and has one line in memory.
 */
public final class TargetLosses {
    private Tail target; // null where there is none, or where it cannot be read any more
    private Line theirs; // the line read last

    public TargetLosses(Optional<Run> target) {
        this.target = target.map(Run::metrics).orElse(null);
    }

    /** Its training loss at a step; empty where it has none, or not yet. */
    public OptionalDouble trained(int step) {
        return at(step, 1) instanceof Line.Training t ? OptionalDouble.of(t.loss()) : OptionalDouble.empty();
    }

    /** Its validation loss before a step; empty where it has none, or not yet. */
    public OptionalDouble validated(int step) {
        return at(step, 0) instanceof Line.Validation v ? OptionalDouble.of(v.loss()) : OptionalDouble.empty();
    }

    private Line at(int step, int part) {
        long place = 2L * step + part;
        try {
            if (target != null && theirs == null) {
                target.seek(step);
            }
            while (target != null && (theirs == null || theirs.place() < place)) {
                Line next = target.next();
                if (next == null) {
                    return null;
                }
                theirs = next;
            }
        } catch (UncheckedIOException e) { // a target that cannot be read any more must not end the run
            target = null;
        }
        return target != null && theirs.place() == place ? theirs : null;
    }
}
