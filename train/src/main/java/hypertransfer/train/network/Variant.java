package hypertransfer.train.network;

/** The paper's two networks. */
public enum Variant {
    /** Strictly scale-invariant: a norm follows every hidden matrix. */
    M1,
    /** Only queries and keys are normed. */
    M2;

    /** Whether a norm without gain follows values, projections and the MLP's matrices. */
    public boolean post() {
        return this == M1;
    }
}
