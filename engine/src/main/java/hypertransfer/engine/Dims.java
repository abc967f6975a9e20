package hypertransfer.engine;

/**
 * The sizes that an engine is opened for; the letters are used everywhere.
 *
 * @param B sequences in a micro-batch
 * @param T tokens in a sequence
 * @param C width of the network
 * @param D width of a head
 * @param V vocabulary
 * @param G heads of keys and of values; H/G heads of queries share one of each
 * @param F width of the MLP
 * @param W how many keys a query sees, itself and those before it; T or more: all
 */
public record Dims(int B, int T, int C, int D, int V, int G, int F, int W) {
    /** A head of keys and values for each of queries, an MLP of four times the width, and no window. */
    public Dims(int B, int T, int C, int D, int V) {
        this(B, T, C, D, V, D > 0 ? C / D : 1, 4 * C, T);
    }

    public Dims {
        positive("batch", B);
        positive("sequence", T);
        positive("width", C);
        positive("head size", D);
        positive("vocabulary", V);
        if (C % D != 0) {
            throw new EngineException("width " + C + " is not a multiple of head size " + D + "; change either");
        }
        if (D % 2 != 0) {
            throw new EngineException("head size " + D + " is odd; rotary embedding turns pairs, so make it even");
        }
        positive("number of key/value heads", G);
        if (C / D % G != 0) {
            throw new EngineException("width " + C + " has " + C / D + " heads of " + D + ", which " + G
                    + " key/value heads do not divide; change either");
        }
        fits("width " + C + " makes hidden matrices of 4 x " + C + " x " + C, C, 4L * C, "lower the width");
        positive("MLP's width", F);
        positive("window", W);
        fits("width " + C + " x MLP's width " + F, C, F, "lower either");
        fits("vocabulary " + V + " x width " + C, V, C, "lower either");
        fits(
                "batch " + B + " x sequence " + T + " x 4 x width " + C,
                (long) B * T,
                4L * C,
                "lower the batch and accumulate gradients instead");
    }

    /** Neither product overflows: each factor is below 2^62, and the first is compared with a quotient. */
    private static void fits(String what, long rows, long cols, String instead) {
        if (rows > Integer.MAX_VALUE / cols) {
            throw new EngineException(what + " numbers, but one tensor holds fewer than 2^31; " + instead);
        }
    }

    /** Tokens in a micro-batch. */
    public int N() {
        return B * T;
    }

    /** Heads. */
    public int H() {
        return C / D;
    }

    /** Heads of queries, keys and values together: so many lie in a row of qkv, in this order. */
    public int Q() {
        return H() + 2 * G;
    }

    /** The longest side of a hidden matrix. */
    public int longest() {
        return Math.max(4 * C, F);
    }

    /** Whether every query has keys and values of its own and sees all that came before. */
    public boolean plainAttention() {
        return G == H() && W >= T;
    }

    private static void positive(String name, int value) {
        if (value <= 0) {
            throw new EngineException(name + " is " + value + "; it must be one or more");
        }
    }
}
