package hypertransfer.core;

import java.util.ArrayList;
import java.util.List;

/** The rate of every step, known before the first. */
public sealed interface Schedule {
    /** {@return the number of steps} */
    int steps();

    /**
     * The rate of a step: a nominal rate where the target is a Base space, an angular step where it is a Hyperball.
     *
     * @param t the step, counted from zero, as {@link State#step} counts
     * @return the rate, zero or more
     * @throws Refusal if {@code t} is below zero, or not below {@link #steps}
     */
    double rate(long t);

    /**
     * A linear warm-up, then a shape.
     *
     * @param peak the largest rate, finite, zero or more
     * @param steps the number of steps, one or more
     * @param warmup the fraction of the steps spent warming up, from 0 to less than 1; the paper has 0.05
     * @param finalRatio the rate at the end as a fraction of the peak, from 0 to 1
     * @param shape how the rate falls after the warm-up
     */
    record Shaped(double peak, int steps, double warmup, double finalRatio, Decline shape) implements Schedule {
        /** Refuses what is out of range. */
        public Shaped {
            Limits.zeroOrMore("schedule's peak rate", peak);
            require(steps > 0, "number of steps", steps, "one or more");
            Limits.fraction("schedule's warm-up fraction", warmup);
            require(finalRatio >= 0 && finalRatio <= 1, "final ratio", finalRatio, "from 0 to 1");
        }

        @Override
        public double rate(long t) {
            inside(t, steps);
            int w = (int) (warmup * steps * (1 + 0x1p-52)); // as a double, 0.29 * 100 is just below 29
            return t < w ? peak * (t + 1) / w : peak * shape.factor((double) (t - w) / (steps - w), finalRatio);
        }
    }

    /**
     * A list of rates, e.g. what a transfer induced for one matrix.
     *
     * @param rates one rate per step, at least one, each finite, zero or more
     */
    record Recorded(List<Double> rates) implements Schedule {
        /** Copies the list; refuses an empty one, and rates out of range. */
        public Recorded {
            rates = List.copyOf(rates);
            require(!rates.isEmpty(), "number of recorded rates", 0, "one or more");
            for (double rate : rates) {
                require(rate >= 0 && rate < Double.POSITIVE_INFINITY, "recorded rate", rate, "finite, zero or more");
            }
        }

        /**
         * The same schedule over another number of steps: the first rate stays the first and the last the last, those
         * between are interpolated linearly.
         *
         * @param steps one or more; one step takes the first rate
         * @return this schedule itself where it has that many steps
         */
        public Recorded resampled(int steps) {
            require(steps > 0, "number of steps", steps, "one or more");
            if (steps == rates.size()) {
                return this;
            }
            List<Double> other = new ArrayList<>();
            for (int t = 0; t < steps; t++) {
                double at = steps == 1 ? 0 : (double) t * (rates.size() - 1) / (steps - 1);
                int below = (int) at, above = Math.min(below + 1, rates.size() - 1);
                other.add((1 - (at - below)) * rates.get(below) + (at - below) * rates.get(above));
            }
            return new Recorded(other);
        }

        @Override
        public int steps() {
            return rates.size();
        }

        @Override
        public double rate(long t) {
            inside(t, rates.size());
            return rates.get((int) t);
        }
    }

    /**
     * The paper's: a linear warm-up, then linear from the peak to {@code finalRatio} of it.
     *
     * @param peak the largest rate, finite, zero or more
     * @param steps the number of steps, one or more
     * @param warmup the fraction of the steps spent warming up, from 0 to less than 1
     * @param finalRatio the rate at the end as a fraction of the peak, from 0 to 1
     * @return the schedule
     * @throws Refusal if one of them is out of range
     */
    static Schedule linear(double peak, int steps, double warmup, double finalRatio) {
        return new Shaped(peak, steps, warmup, finalRatio, new Decline.Linear());
    }

    private static void inside(long t, int steps) {
        if (t < 0 || t >= steps) {
            throw new Refusal("step " + t + " is outside the schedule's " + steps + " steps, 0 to " + (steps - 1));
        }
    }

    private static void require(boolean holds, String name, Number value, String expected) {
        if (!holds) {
            throw new Refusal("schedule's " + name + " is " + value + "; it must be " + expected);
        }
    }
}
