package hypertransfer.train.network;

/** The paper's two networks. */
public enum Variant {
    /** Strictly scale-invariant: a norm follows every hidden matrix. */
    M1,
    /** Only queries and keys are normed. */
    M2;

    /** Whether the loss does not depend on the scale of this hidden matrix; {@code ht invariance} measures it. */
    public boolean invariant(String matrix) {
        return this == M1 || matrix.endsWith(".attn.q.weight") || matrix.endsWith(".attn.k.weight");
    }

    /** Whether a norm without gain follows values, projections and the MLP's matrices. */
    public boolean post() {
        return this == M1;
    }
}
