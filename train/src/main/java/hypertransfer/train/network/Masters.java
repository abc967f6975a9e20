package hypertransfer.train.network;

/** Where the masters of hidden matrices are, beside the weights that the network is evaluated at. */
public enum Masters {
    /** A master is the weight itself, unless the engine has another number format for weights. */
    SHARED,
    /** A master is a tensor of its own, so that the network can be evaluated at a multiple of it. */
    SEPARATE,
    /** A master is a tensor of its own in double precision. */
    EXACT
}
