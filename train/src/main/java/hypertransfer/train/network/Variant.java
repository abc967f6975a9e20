package hypertransfer.train.network;

/** The paper's two networks, from which {@link Design} may differ. */
public enum Variant {
    /** Strictly scale-invariant: a norm follows every hidden matrix. */
    M1,
    /** Only queries and keys are normed. */
    M2
}
