package hypertransfer.prediction;

import hypertransfer.core.Refusal;

/**
 * The horizon law: tuned rates for a run of another length. The recursion of {@link Prediction} is invariant, apart from
 * the momentum's memory and the start, under {@code rate -> k rate, decay -> k decay, steps -> steps / k^2}: norms are the
 * same function of t/T, effective rates are k times as large, and the sum of their squares is the same. The angle of a
 * Hyperball is an effective rate.
 *
 * @param from the steps of the tuned run, 1 or more
 * @param to the steps of the other, 1 or more
 */
public record Horizon(int from, int to) {
    /** {@return k, what rates, weight decays and angles are multiplied with} */
    public double factor() {
        return Math.sqrt((double) from / to);
    }

    /**
     * Refuses a run too short for the law: its first steps at the peak would erase the matrices.
     *
     * @param rate the tuned peak rate
     * @param decay the weight decay that it acts with, 0 on a Hyperball
     */
    public void check(double rate, double decay) {
        double least = rate * decay * from; // so many steps make the product 1
        if (to <= least) {
            throw new Refusal("rate " + rate + " and decay " + decay + " of " + from
                    + " steps cannot be carried over to "
                    + to + " steps: multiplied by " + factor() + " each, their product would be 1 or more; take more"
                    + " steps than " + (long) least);
        }
    }
}
