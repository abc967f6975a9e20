package hypertransfer.train.network;

import hypertransfer.core.Refusal;
import hypertransfer.engine.HeadRule;
import hypertransfer.engine.Nonlinearity;
import java.util.ArrayList;
import java.util.List;

/**
 * The choices in which GPTs differ. M1 and M2 are two of them, see {@link #of}.
 *
 * @param postNorm whether a norm without gain follows values, projections and the MLP's matrices
 * @param qkNorm whether queries and keys are normed
 * @param mlpWidth 0: four times the width, or of SwiGLU 8/3 of it, rounded up to whole heads
 * @param kvHeads heads of keys and of values; 0: as many as of queries
 * @param window how many keys a query sees, its own among them; 0: all
 * @param norm of the stream; post norms and those of heads are always RMS norms
 * @param gain whether the stream's norms have one
 * @param embedNorm whether a norm follows the embedding
 * @param bias whether matrices and the stream's norms have a bias
 * @param tied whether the head is the embedding's matrix
 */
public record Design(
        boolean postNorm,
        boolean qkNorm,
        Nonlinearity mlp,
        int mlpWidth,
        int kvHeads,
        int window,
        Positions positions,
        Norm norm,
        boolean gain,
        boolean embedNorm,
        boolean bias,
        boolean tied) {

    /** Refuses biases where norms follow: these would depend on the matrices' scale, but not before the biases have grown. */
    public Design {
        if (bias && (postNorm || qkNorm)) {
            throw new Refusal(
                    "model.bias is true, and norms follow the matrices: set network to M2 and model.qk_norm to"
                            + " false, or model.bias to false");
        }
    }

    /** The norm of the stream. */
    public enum Norm {
        RMS,
        LAYER
    }

    /** How attention knows where a token stands. */
    public enum Positions {
        ROTARY,
        LEARNED,
        NONE
    }

    /** The paper's two networks. */
    public static Design of(Variant variant) {
        return new Design(
                variant == Variant.M1,
                true,
                Nonlinearity.RELU_SQUARED,
                0,
                0,
                0,
                Positions.ROTARY,
                Norm.RMS,
                true,
                true,
                false,
                false);
    }

    /** Whether the loss does not depend on the scale of this hidden matrix; {@code ht invariance} measures it. */
    public boolean invariant(Outline.Kind matrix) {
        return matrix == Outline.Kind.Q || matrix == Outline.Kind.K ? qkNorm : postNorm;
    }

    /** Whether a norm follows every hidden matrix. */
    public boolean invariant() {
        return postNorm && qkNorm;
    }

    HeadRule heads() {
        return new HeadRule(qkNorm, postNorm, positions == Positions.ROTARY);
    }

    /** {@code M2}, {@code M2 with gelu, tied embedding}: the network, and what differs from it, for people. */
    public String label() {
        Variant variant = postNorm ? Variant.M1 : Variant.M2;
        List<String> others = new ArrayList<>();
        switch (mlp) {
            case RELU_SQUARED -> {}
            case GELU -> others.add("GELU");
            case SWIGLU -> others.add("SwiGLU");
        }
        add(others, mlpWidth > 0, "MLP of " + mlpWidth);
        add(others, kvHeads > 0, kvHeads + " key/value head" + (kvHeads > 1 ? "s" : ""));
        add(others, window > 0, "window of " + window);
        add(others, !qkNorm, "no Q/K norm");
        add(others, positions == Positions.NONE, "no positions");
        add(others, positions == Positions.LEARNED, "learned positions");
        add(others, norm == Norm.LAYER, "LayerNorm");
        add(others, !gain, "no gains");
        add(others, !embedNorm, "no norm of the embedding");
        add(others, bias, "biases");
        add(others, tied, "tied embedding");
        return others.isEmpty() ? variant.name() : variant + " with " + String.join(", ", others);
    }

    private static void add(List<String> words, boolean applies, String word) {
        if (applies) {
            words.add(word);
        }
    }
}
