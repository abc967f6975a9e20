package hypertransfer.core;

/**
 * What is different early in a run: gradients have a low rank and persist, so that directions are shorter and resemble
 * each other for longer. It fades with {@code exp(-turned / angle)}, where {@code turned} is the sum of the effective
 * rates so far.
 *
 * @param part |u| at the first step, as a part of what it becomes
 * @param angle how far the matrix turns until 1/e of the difference is left, in radians
 * @param decay the expected cosine of two early directions that are j steps apart is {@code decay^j}
 */
public record Onset(double part, double angle, double decay) {
    /** Nothing is different early. */
    public static final Onset NONE = new Onset(1, 0, 0);

    /** Refuses parts above one, angles below zero and memories that never end. */
    public Onset {
        if (!(part > 0 && part <= 1 && angle >= 0 && angle < Double.POSITIVE_INFINITY && decay >= 0 && decay < 1)) {
            throw new Refusal(
                    "the start of a run has part " + part + ", angle " + angle + " and decay " + decay
                            + "; the part must be above 0 and at most 1, the angle zero or more, the decay from 0 to less than 1");
        }
    }

    /**
     * How early it is.
     *
     * @param turned the sum of the effective rates so far, in radians
     * @return 1 at the start, 0 at the end
     */
    public double left(double turned) {
        return angle == 0 ? 0 : Math.exp(-turned / angle);
    }
}
