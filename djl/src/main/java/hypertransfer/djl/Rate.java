package hypertransfer.djl;

import ai.djl.training.tracker.ParameterTracker;
import hypertransfer.core.Schedule;

/** The target's rate at every step. */
@FunctionalInterface
public interface Rate {

    /**
     * @param parameterId DJL's own id of the parameter
     * @param step the number of steps the parameter has taken so far
     */
    double at(String parameterId, long step);

    /** A tracker of DJL, asked as DJL's own optimizers ask it: the first update is number 1. */
    static Rate of(ParameterTracker tracker) {
        return (parameterId, step) -> tracker.getNewValue(parameterId, Math.toIntExact(step + 1));
    }

    /** A schedule of ours, which knows its end and refuses steps beyond it. */
    static Rate of(Schedule schedule) {
        return (parameterId, step) -> schedule.rate(Math.toIntExact(step));
    }
}
