package hypertransfer.core;

/** Which gradient a transferred matrix hands to its direction. */
public enum GradientRule {
    /** The gradient at the carrier, untouched. */
    AS_IS,
    /** The gradient at the carrier times rC/rT: exact where the loss is invariant to the matrix's scale (lemma 1). */
    RESCALED,
    /** The gradient at the target's representative (rT/rC) w: exact on every network (the + forms). */
    REPRESENTATIVE,
    /**
     * The gradient at (R/rC) w, whatever space carries w, times R/rT: exact where the loss is invariant to the matrix's
     * scale. A carrier and its target run under this rule evaluate the network at the same matrix, so in double precision
     * they see the same rounded weights.
     */
    AT_RADIUS;

    /** {@return whether the network is evaluated at a multiple of w, which then needs weights of its own} */
    public boolean evaluatesElsewhere() {
        return this == REPRESENTATIVE || this == AT_RADIUS;
    }
}
