package hypertransfer.prediction;

import hypertransfer.core.Refusal;
import java.util.List;

/**
 * How much of a direction is still in the directions after it: two directions that are j steps apart have the expected
 * cosine {@code sum of weight * decay^j}. Momentum makes it long, and so makes norms grow.
 *
 * @param terms the parts of the cosine
 */
public record Memory(List<Term> terms) {
    /**
     * A part of the cosine that decays geometrically.
     *
     * @param weight its part at j = 0
     * @param decay its factor per step
     */
    public record Term(double weight, double decay) {
        /** Refuses memories that never end. */
        public Term {
            if (!(Math.abs(weight) <= 10 && decay >= 0 && decay < 1)) {
                throw new Refusal("a direction's memory has weight " + weight + " and decay " + decay
                        + "; the weight must be a number of -10 to 10, the decay from 0 to less than 1");
            }
        }
    }

    /** Keeps a copy of the terms. */
    public Memory {
        terms = List.copyOf(terms);
    }

    /**
     * Momentum of gradients that know nothing of each other.
     *
     * @param beta of the momentum
     * @return one term
     */
    public static Memory momentum(double beta) {
        return new Memory(List.of(new Term(1, beta)));
    }
}
