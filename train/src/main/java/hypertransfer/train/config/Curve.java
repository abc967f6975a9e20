package hypertransfer.train.config;

import hypertransfer.core.Decline;
import hypertransfer.core.Limits;
import hypertransfer.core.Refusal;
import hypertransfer.core.Schedule;

/**
 * How a rate rises to its peak and falls from it.
 *
 * @param schedule how it falls
 * @param warmup the part of the steps in which it rises
 * @param finalRatio what it ends at, as a fraction of the peak
 */
public record Curve(Named schedule, double warmup, double finalRatio) {
    /**
     * A shape as it was written. Runs keep the text, so that {@code trapezoid:.2} is not another configuration than
     * before.
     */
    public record Named(String text, Decline shape) {}

    /** Refuses by the names of their keys what is no schedule; {@code key} names the group of keys. */
    void check(String key, double rate) {
        Limits.zeroOrMore(key + ".rate", rate);
        Limits.fraction(key + ".warmup", warmup);
        if (!(finalRatio >= 0 && finalRatio <= 1)) {
            throw new Refusal(key + ".final_ratio is " + finalRatio + "; it must be from 0 to 1");
        }
    }

    public Schedule.Shaped from(double peak, int steps) {
        return new Schedule.Shaped(peak, steps, warmup, finalRatio, schedule.shape());
    }
}
