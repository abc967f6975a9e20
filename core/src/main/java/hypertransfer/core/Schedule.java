package hypertransfer.core;

import java.util.List;

/** The rate of every step, known before the first. */
public sealed interface Schedule {

    /** The number of steps. */
    int steps();

    /** The rate of step {@code t}, counted from zero. */
    double rate(int t);

    /**
     * A linear warm-up, then a shape.
     *
     * @param peak the largest rate
     * @param warmup the part of the steps spent warming up, from 0 to less than 1; the paper has 0.05
     * @param finalRatio what the shape ends at, as a part of the peak
     */
    record Shaped(double peak, int steps, double warmup, double finalRatio, Shape shape) implements Schedule {
        public Shaped {
            require(peak >= 0 && peak < Double.POSITIVE_INFINITY, "peak rate", peak, "a finite number, zero or more");
            require(steps > 0, "number of steps", steps, "one or more");
            require(warmup >= 0 && warmup < 1, "warm-up fraction", warmup, "from 0 to less than 1");
            require(finalRatio >= 0 && finalRatio <= 1, "final ratio", finalRatio, "from 0 to 1");
        }

        @Override
        public double rate(int t) {
            inside(t, steps);
            int w = (int) Math.floor(warmup * steps);
            return t < w ? peak * (t + 1) / w : peak * shape.factor((double) (t - w) / (steps - w), finalRatio);
        }
    }

    /** A list of rates, e.g. what a transfer induced for one matrix. */
    record Recorded(List<Double> rates) implements Schedule {
        public Recorded {
            rates = List.copyOf(rates);
            require(!rates.isEmpty(), "number of recorded rates", 0, "one or more");
            for (double rate : rates) {
                require(rate >= 0 && rate < Double.POSITIVE_INFINITY, "recorded rate", rate, "finite, zero or more");
            }
        }

        @Override
        public int steps() {
            return rates.size();
        }

        @Override
        public double rate(int t) {
            inside(t, rates.size());
            return rates.get(t);
        }
    }

    /** The paper's: linear from the peak to {@code finalRatio} of it. */
    static Schedule linear(double peak, int steps, double warmup, double finalRatio) {
        return new Shaped(peak, steps, warmup, finalRatio, new Shape.Linear());
    }

    private static void inside(int t, int steps) {
        if (t < 0 || t >= steps) {
            throw new Refusal("step " + t + " is outside the schedule's " + steps + " steps, 0 to " + (steps - 1));
        }
    }

    private static void require(boolean holds, String name, double value, String expected) {
        if (!holds) {
            throw new Refusal("schedule's " + name + " is " + value + "; it must be " + expected);
        }
    }
}
