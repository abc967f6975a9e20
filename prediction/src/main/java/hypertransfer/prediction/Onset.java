package hypertransfer.prediction;

import hypertransfer.core.Refusal;

/**
 * What is different early in a run: gradients have a low rank and persist, so that directions are shorter and resemble
 * each other for longer. At step t a part {@code exp(-t / steps)} of that is left.
 *
 * @param part |u| at the first step, as a part of what it becomes
 * @param steps how many steps it takes until 1/e of the difference is left
 * @param decay the expected cosine of two early directions that are j steps apart is {@code decay^j}
 */
public record Onset(double part, double steps, double decay) {
    /** Nothing is different early. */
    public static final Onset NONE = new Onset(1, 0, 0);

    /** Refuses parts above one, steps below zero and memories that never end. */
    public Onset {
        if (!(part > 0 && part <= 1 && steps >= 0 && steps < Double.POSITIVE_INFINITY && decay >= 0 && decay < 1)) {
            throw new Refusal(
                    "the start of a run has part " + part + ", steps " + steps + " and decay " + decay
                            + "; the part must be above 0 and at most 1, the steps zero or more, the decay from 0 to less than 1");
        }
    }

    /**
     * How early it is.
     *
     * @param step counted from zero
     * @return 1 at the start, 0 at the end
     */
    public double left(int step) {
        return steps == 0 ? 0 : Math.exp(-step / steps);
    }
}
