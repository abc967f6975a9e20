package hypertransfer.engine;

/** What a tensor is for. An engine chooses its number format by it and keeps one block of memory a role. */
public enum Role {
    /** What the network is evaluated at. */
    WEIGHT,
    /** What the optimizer moves; the same tensor as the weight where the formats agree. */
    MASTER,
    /** What the backward pass adds to, and the optimizer turns into a direction in place. */
    GRADIENT,
    /** What the optimizer remembers. */
    STATE,
    /** What the forward pass leaves for the backward pass. */
    ACTIVATION,
    /** What an engine needs for itself. */
    SCRATCH
}
