package hypertransfer.engine;

/**
 * What a GPT computes, forward and backward; {@link Shapes} reads the shapes that stand before each operation.
 *
 * <p>Forward operations overwrite their outputs. Backward operations overwrite the gradients of activations and add to those
 * of parameters. Norms are RMS norms, {@code x r} with {@code r = 1/sqrt(mean(x^2) + 1e-10)}, times {@code 1 + gain} where
 * there is a gain; {@code r} is kept, one number per row.
 */
public interface Layers {
    /** x = w[inputs]. */
    @Shapes("w:V,C x:N,C")
    void embed(Tensor w, Tensor x);

    @Shapes("dx:N,C dw:V,C")
    void embedBackward(Tensor dx, Tensor dw);

    /** y = x w^T. */
    @Shapes("x:n,in w:out,in y:n,out")
    void product(Tensor x, Tensor w, Tensor y);

    /** dx = dy w. */
    @Shapes("dy:n,out w:out,in dx:n,in")
    void productInput(Tensor dy, Tensor w, Tensor dx);

    /** dw += dy^T x. */
    @Shapes("dy:n,out x:n,in dw:out,in")
    void productWeight(Tensor dy, Tensor x, Tensor dw);

    /**
     * y += b, where row n of y gets row n modulo R of b, which has R rows: a bias with R = 1, learned positions with R = T.
     */
    @Shapes("y:N,out b:/N,out")
    void addRows(Tensor y, Tensor b);

    /** db += the sum of the rows of dy that share it. */
    @Shapes("dy:N,out db:/N,out")
    void addRowsBackward(Tensor dy, Tensor db);

    /** y = norm(x). */
    @Shapes("x:N,C norm y:N,C")
    void norm(Tensor x, Norm norm, Tensor y);

    /** dx = the gradient through the norm; dgain += its share. */
    @Shapes("dy:N,C x:N,C norm dx:N,C")
    void normBackward(Tensor dy, Tensor x, Norm norm, Tensor dx);

    /**
     * The end of a sublayer and the start of the next: out = h + post(z), y = norm(out). post is a norm without
     * gain that leaves zr, or the identity where zr is null; it never centers.
     */
    @Shapes("h:N,C z:N,C zr?:N,1 out:N,C norm y:N,C")
    void residualNorm(Tensor h, Tensor z, Tensor zr, Tensor out, Norm norm, Tensor y);

    /**
     * On entry dh holds what later blocks sent to out; on return, what goes to h. dz = the gradient at z; where zr is
     * null that is dh itself, and dz is not written unless it has eight bits.
     */
    @Shapes("dy:N,C z?zr:N,C zr?:N,1 out:N,C norm dh:N,C dz?zr:N,C")
    void residualNormBackward(Tensor dy, Tensor z, Tensor zr, Tensor out, Norm norm, Tensor dh, Tensor dz);

    /**
     * Per head and in place: q, k = rotary(norm(q)), rotary(norm(k)), and v = norm(v), each if so asked. qkv has H heads of
     * queries, then G of keys, then G of values; r is written for the heads that are normed.
     */
    @Shapes("qkv:N,QD r:N,Q rule")
    void heads(Tensor qkv, Tensor r, HeadRule rule);

    /** dqkv in place. */
    @Shapes("dqkv:N,QD qkv:N,QD r:N,Q rule")
    void headsBackward(Tensor dqkv, Tensor qkv, Tensor r, HeadRule rule);

    /**
     * Causal softmax attention over the last W keys, scale 1/sqrt(D); head h of queries meets head h G/H of keys and values.
     * lse is the logarithm of each row's sum.
     */
    @Shapes("qkv:N,QD o:N,C lse:N,H")
    void attention(Tensor qkv, Tensor o, Tensor lse);

    @Shapes("qkv:N,QD o:N,C lse:N,H dO:N,C dqkv:N,QD")
    void attentionBackward(Tensor qkv, Tensor o, Tensor lse, Tensor dO, Tensor dqkv);

    /**
     * s = kind(post(f)), post as above for each of the kind's inputs, which lie beside each other in f.
     */
    @Shapes("f:N,FI fr?:N,I s:N,F kind")
    void activation(Tensor f, Tensor fr, Tensor s, Nonlinearity kind);

    /** df = the gradient at f. It may be ds itself where the kind has one input. */
    @Shapes("f:N,FI fr?:N,I ds:N,F df:N,FI kind")
    void activationBackward(Tensor f, Tensor fr, Tensor ds, Tensor df, Nonlinearity kind);

    // Two operations that follow each other, for engines that do both at once.

    /** {@link #product}, then {@link #heads}. */
    @Shapes("x:N,C w:QD,C qkv:N,QD r:N,Q rule")
    default void productHeads(Tensor x, Tensor w, Tensor qkv, Tensor r, HeadRule rule) {
        product(x, w, qkv);
        heads(qkv, r, rule);
    }

    /** {@link #attentionBackward}, then {@link #headsBackward}. */
    @Shapes("qkv:N,QD r:N,Q rule o:N,C lse:N,H dO:N,C dqkv:N,QD")
    default void attentionHeadsBackward(
            Tensor qkv, Tensor r, HeadRule rule, Tensor o, Tensor lse, Tensor dO, Tensor dqkv) {
        attentionBackward(qkv, o, lse, dO, dqkv);
        if (!rule.nothing()) {
            headsBackward(dqkv, qkv, r, rule);
        }
    }

    /**
     * {@link #product}, then {@link #activation} without a norm. An engine that finds the slope from s leaves f as it was.
     */
    @Shapes("x:N,C w:FI,C f:N,FI s:N,F kind")
    default void productActivation(Tensor x, Tensor w, Tensor f, Tensor s, Nonlinearity kind) {
        product(x, w, f);
        activation(f, null, s, kind);
    }

    /** {@link #productInput}, then {@link #activationBackward}, after {@link #productActivation}. */
    @Shapes("dy:N,C w:C,F f:N,FI s:N,F ds:N,F df:N,FI kind")
    default void productActivationBackward(
            Tensor dy, Tensor w, Tensor f, Tensor s, Tensor ds, Tensor df, Nonlinearity kind) {
        productInput(dy, w, ds);
        activationBackward(f, null, ds, df, kind);
    }

    /**
     * Cross entropy of the targets under softmax(x w^T): losses, and, unless dx is null, dx and dw += the gradients of
     * scale times their sum. The logits are never kept.
     */
    @Shapes("x:N,C w:V,C losses:N,1 - dx?dw:N,C dw?dx:V,C")
    void head(Tensor x, Tensor w, Tensor losses, double scale, Tensor dx, Tensor dw);

    /** The logits of one row of x. */
    @Shapes("x:N,C row<N w:V,C")
    double[] logits(Tensor x, int row, Tensor w);

    /**
     * A norm of the stream, with what it learns and what it keeps.
     *
     * @param gain (1,C)
     * @param dgain what the backward pass adds the gain's gradient to, (1,C)
     * @param r each row's factor, from the forward pass to the backward pass, (N,1)
     * @param center whether each row's mean is taken away first, which makes it a LayerNorm
     */
    record Norm(Tensor gain, Tensor dgain, Tensor r, boolean center) {}

    /**
     * What is done to each head before attention.
     *
     * @param normQK whether queries and keys are normed
     * @param normV whether values are
     * @param rotary whether queries and keys are then turned by their position
     */
    record HeadRule(boolean normQK, boolean normV, boolean rotary) {
        /** Whether it leaves all heads as they are. */
        public boolean nothing() {
            return !normQK && !normV && !rotary;
        }
    }

    /** What an MLP does between its matrices. */
    enum Nonlinearity {
        /** relu(x)^2. */
        RELU_SQUARED,
        /** x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2, as GPT-2 has it. */
        GELU,
        /** x sigmoid(x) y, where x comes from the gate and y from a matrix beside it. */
        SWIGLU;

        /** How many matrices feed it. */
        public int inputs() {
            return this == SWIGLU ? 2 : 1;
        }
    }
}
