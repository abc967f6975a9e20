package hypertransfer.core;

/** The space a matrix lives in (its carrier), or the one whose dynamics it follows (its target). */
public sealed interface Space {

    /** {@return the decoupled weight decay lambda of this space; zero on a Hyperball} */
    double decay();

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

    /** The norm is fixed at its first value R, and a rate is an angle. MuonH, AdamH. */
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
}
