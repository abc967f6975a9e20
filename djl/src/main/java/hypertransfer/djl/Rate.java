package hypertransfer.djl;

import ai.djl.training.tracker.ParameterTracker;
import hypertransfer.core.Schedule;

/**
 * The target's rate at every step: the nominal rate of a Base target, an angular step of a Hyperball. It is asked once per
 * parameter, device and step, and must give the same answer each time, or a resumed run would differ.
 */
@FunctionalInterface
public interface Rate {
    /**
     * The rate of one step.
     *
     * @param parameterId DJL's own id of the parameter
     * @param step the number of steps the parameter has taken so far, so 0 at the first
     * @return the rate, finite, zero or more
     */
    double at(String parameterId, long step);

    /**
     * A tracker of DJL, asked as DJL's own optimizers ask it: the first update is number 1.
     *
     * @param tracker DJL's schedule
     * @return its rates
     */
    static Rate of(ParameterTracker tracker) {
        return (parameterId, step) -> tracker.getNewValue(parameterId, Math.toIntExact(step + 1));
    }

    /**
     * A schedule of ours, which knows its end and refuses steps beyond it.
     *
     * @param schedule the rate of every step
     * @return its rates, the same for all parameters
     */
    static Rate of(Schedule schedule) {
        return (parameterId, step) -> schedule.rate(step);
    }
}
