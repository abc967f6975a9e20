package hypertransfer.engine;

/** What a tensor is for. An engine chooses its number format by it and keeps one block of memory per role. */
public enum Role {
    /** A matrix that the network is evaluated at. */
    WEIGHT,
    /** A norm's gain that the network is evaluated at: few numbers, so never in a short format. */
    GAIN,
    /** What the optimizer moves; the same tensor as the weight where the formats agree. */
    MASTER,
    /**
     * What the optimizer moves, in double precision: two runs that are equal in exact arithmetic then round to the same
     * weights. Only {@link Motion#readings}, {@link Motion#move}, {@link Motion#represent}, reading and writing take it.
     */
    EXACT_MASTER,
    /** What the backward pass adds to, and the optimizer turns into a direction in place. */
    GRADIENT,
    /** The same of a hidden matrix, which may be orthogonalised. */
    HIDDEN_GRADIENT,
    /** What the optimizer remembers. */
    STATE,
    /** What the forward pass leaves for the backward pass. */
    ACTIVATION,
    /** The same where only products read it, and the slope of relu squared: of eight bits on {@link Format#FP8} engines. */
    OPERAND,
    /** The gradient at an activation where only products read it, likewise. */
    OPERAND_GRADIENT,
    /** One number per row or head: a norm's factor, a logarithm, a loss. Never in a short format. */
    STATISTIC,
    /** What an engine needs for itself. */
    SCRATCH
}
