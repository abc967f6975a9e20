package hypertransfer.core;

/** The space a matrix lives in (its carrier), or the one whose dynamics it follows (its target). */
public sealed interface Space {

    /** The decoupled weight decay lambda of this space. */
    double decay();

    /** The norm is free: {@code w <- (1 - eta lambda) w - eta u}. Muon, AdamW. */
    record Base(double decay) implements Space {
        public Base {
            if (!(decay >= 0 && decay < Double.POSITIVE_INFINITY)) {
                throw new Refusal("weight decay is " + decay + "; it must be a finite number, zero or more");
            }
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
