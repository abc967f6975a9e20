package hypertransfer.core;

/**
 * The space a matrix lives in (its carrier), or the one whose dynamics it follows (its target): a rule for its norm.
 *
 * <p>A step at rate e is {@code w <- (1 - e pull) w - e lift u}, then w is brought to the norm {@link #after}. Pull and lift are
 * functions of three numbers: the norm r of the matrix in this space, |u|, and the cosine of u and w. Any such rule can carry any
 * other, exactly and for the paper's reason: carrier and target lie on one ray, so u, and with it the cosine, is the same for
 * both, and the angle of a step decides where the ray turns. A rule that treats the numbers of a matrix one by one, as cautious
 * weight decay does, leaves the plane of w and u: it is no space, and no angle can stand for it. Matrices that start at zero, and
 * rates as angles, are for {@link Base} and {@link Hyperball}.
 */
public interface Space {
    /** {@return the decoupled weight decay lambda of this space; zero on a Hyperball} */
    double decay();

    /**
     * What is taken of w.
     *
     * @param r the matrix's norm in this space
     * @param u the direction's norm |u|
     * @param cos the cosine of u and w; below zero the step goes outward
     * @return the part of w that a rate of 1 takes away
     */
    default double pull(double r, double u, double cos) {
        return decay();
    }

    /**
     * What the direction is multiplied by.
     *
     * @param r the matrix's norm in this space
     * @param u the direction's norm |u|
     * @param cos the cosine of u and w
     * @return the factor, above zero
     */
    default double lift(double r, double u, double cos) {
        return 1;
    }

    /**
     * The norm that the step ends with.
     *
     * @param free the length of {@code (1 - e pull) w - e lift u}
     * @param along its part along w
     * @return the norm, above zero: free where nothing is done about it
     */
    default double after(double free, double along) {
        return free;
    }

    /**
     * The norm is free: {@code w <- (1 - eta lambda) w - eta u}. Muon, AdamW.
     *
     * @param decay the decoupled weight decay lambda, a finite number, zero or more; a step shrinks w by {@code eta lambda}
     */
    record Base(double decay) implements Space {
        /** Refuses a decay out of range. */
        public Base {
            Limits.zeroOrMore("weight decay", decay);
        }

        @Override
        public String toString() {
            return "Base(" + decay + ")";
        }
    }

    /** The norm is fixed at its first value R, and a rate is an angle, which {@link Transfer} takes as it is. MuonH, AdamH. */
    record Hyperball() implements Space {
        @Override
        public double decay() {
            return 0;
        }

        @Override
        public String toString() {
            return "Hyperball";
        }
    }

    /**
     * A Base space with the norm control of records in "steps to a loss" (modded-nanogpt, track 3, results 9 and 29, which have no
     * decay): first the brake, then the floor, then the pin. {@code Controlled(l, 0, 1, false)} is {@code Base(l)}.
     *
     * @param decay the decoupled weight decay, as in {@link Base}
     * @param floor the least |u|/|w|: a smaller direction is made longer; 0 for none
     * @param brake the part that is left of a direction's component along w where it goes outward: 1 for all, 0 for none
     * @param pinned whether the norm ends at its first-order value, without what the component across w adds to it
     */
    record Controlled(double decay, double floor, double brake, boolean pinned) implements Space {
        /** Refuses what is out of range. */
        public Controlled {
            Limits.zeroOrMore("weight decay", decay);
            Limits.zeroOrMore("the floor of |u|/|w|", floor);
            if (!(brake >= 0 && brake <= 1)) {
                throw new Refusal("the radial brake is " + brake + "; it must be from 0 to 1");
            }
        }

        @Override
        public String toString() {
            return "Base(" + decay + ")" + (floor > 0 ? " with floor " + floor : "")
                    + (brake < 1 ? " with brake " + brake : "") + (pinned ? " pinned" : "");
        }

        @Override
        public double pull(double r, double u, double cos) {
            return decay - lift(r, u, cos) * (1 - brake) * u * Math.min(cos, 0) / r;
        }

        @Override
        public double lift(double r, double u, double cos) {
            double braked = cos < 0 ? u * Math.sqrt(1 - (1 - brake * brake) * cos * cos) : u;
            return braked == 0 ? 1 : Math.max(1, floor * r / braked);
        }

        @Override
        public double after(double free, double along) {
            return pinned ? along : free;
        }
    }
}
