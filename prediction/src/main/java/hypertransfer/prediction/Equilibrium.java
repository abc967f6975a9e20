package hypertransfer.prediction;

import hypertransfer.core.Rates;
import hypertransfer.core.Refusal;

/**
 * Where weight decay and growth balance at a constant rate: the norm and the effective rate that a long run forgets its
 * start for.
 *
 * @param norm s, of {@code s^2 = e c^2 (1+b) / ((1-b) 2 l)} for momentum b and a small e l
 * @param effective {@code sqrt(2 e l (1-b)/(1+b))}: the shape factor and the matrix's size have no part in it
 */
public record Equilibrium(double norm, double effective) {
    /**
     * The fixed point of {@link Prediction}'s recursion.
     *
     * @param matrix what is expected of the matrix; its norm at the start has no part in it
     * @param rate the nominal rate e, constant
     * @param decay the weight decay l
     * @return where norm and effective rate come to rest
     */
    public static Equilibrium of(Expected matrix, double rate, double decay) {
        if (!(rate > 0 && decay > 0 && rate * decay < 1)) {
            throw new Refusal("an equilibrium needs a rate and a weight decay above zero whose product is below 1;"
                    + " they are " + rate + " and " + decay);
        }
        double k = 1 - rate * decay;
        double grown = 1;
        for (Memory.Term term : matrix.memory().terms()) {
            grown += 2 * k * term.weight() * term.decay() / (1 - term.decay() * k);
        }
        double push = rate * matrix.direction();
        double norm = push * Math.sqrt(Math.max(0, grown) / (rate * decay * (1 + k)));
        return new Equilibrium(norm, Rates.effective(rate, decay, matrix.direction(), norm));
    }

    /**
     * The steps after which only this part of the squared norm's distance to its equilibrium is left; the distance
     * shrinks by {@code (1 - e l)^2} per step.
     *
     * @param rate the nominal rate e, constant
     * @param decay the weight decay l
     * @param left the part that is left, e.g. 0.05
     * @return the number of steps, not rounded
     */
    public static double steps(double rate, double decay, double left) {
        if (!(rate > 0 && decay > 0 && rate * decay < 1 && left > 0 && left < 1)) {
            throw new Refusal(
                    "the time to equilibrium needs a rate and a weight decay above zero whose product is below"
                            + " 1, and a part from 0 to 1; they are " + rate + ", " + decay + " and " + left);
        }
        return Math.log(left) / (2 * Math.log1p(-rate * decay));
    }
}
