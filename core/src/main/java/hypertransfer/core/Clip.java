package hypertransfer.core;

/**
 * The most that a step's gradients may be, in the target's gradient space: after each gradient's own scale, so that a
 * transferred run clips where its target does. Zero for no limit.
 *
 * @param norm of all gradients together, the hidden matrices' and the others'
 * @param value of every number
 */
public record Clip(double norm, double value) {
    /** No limit. */
    public static final Clip NONE = new Clip(0, 0);

    /** Refuses limits that are no numbers, and two of them. */
    public Clip {
        Limits.zeroOrMore("clip.norm", norm);
        Limits.zeroOrMore("clip.value", value);
        if (norm > 0 && value > 0) {
            throw new Refusal("clip.norm is " + norm + " and clip.value is " + value + "; set one of them to 0");
        }
    }

    /** {@return whether there is a limit} */
    public boolean any() {
        return norm > 0 || value > 0;
    }

    /**
     * The factor for gradients of this norm. It is rounded to a float: the last bits of the norm are not the same in two
     * equal runs, nor on another number of ranks.
     *
     * @param met the norm of all gradients, each after its scale
     * @return 1 unless the norm is limited and above its limit
     */
    public double factor(double met) {
        return norm > 0 && met > norm ? (float) (norm / met) : 1;
    }

    /**
     * What was done to a step's gradients.
     *
     * @param norm of all gradients in the target's space, before
     * @param kept what is left of it, 1 where nothing was clipped
     */
    public record Outcome(double norm, double kept) {
        /** Where gradients are not clipped, and nothing is measured. */
        public static final Outcome NONE = new Outcome(Double.NaN, Double.NaN);
    }
}
