package hypertransfer.core;

/** Which gradient a transferred matrix hands to its direction. */
public enum GradientRule {
    /** The gradient at the carrier, untouched. */
    AS_IS,
    /** The gradient at the carrier times rC/rT: exact where the loss is invariant to the matrix's scale (lemma 1). */
    RESCALED,
    /** The gradient at the target's representative (rT/rC) w: exact on every network (the + forms). */
    REPRESENTATIVE
}
