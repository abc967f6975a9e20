package hypertransfer.train.network;

import hypertransfer.engine.Layers.Nonlinearity;
import java.util.ArrayList;
import java.util.List;

/**
 * The choices in which GPTs differ from the paper's two networks: keys of {@code model}.
 *
 * @param mlpWidth 0: four times the width, or of SwiGLU 8/3 of it, rounded up to whole heads
 * @param kvHeads heads of keys and of values; 0: as many as of queries
 * @param window how many keys a query sees, its own among them; 0: all
 * @param qkNorm whether queries and keys are normed
 * @param norm of the stream; post norms and those of heads are always RMS norms
 * @param embedNorm whether a norm follows the embedding
 * @param bias whether matrices and the stream's norms have a bias
 * @param tied whether the head is the embedding's matrix
 */
public record Design(
        Nonlinearity mlp,
        int mlpWidth,
        int kvHeads,
        int window,
        boolean qkNorm,
        Positions positions,
        Norm norm,
        boolean embedNorm,
        boolean bias,
        boolean tied) {
    /** The paper's. */
    public static final Design PAPER =
            new Design(Nonlinearity.RELU_SQUARED, 0, 0, 0, true, Positions.ROTARY, Norm.RMS, true, false, false);

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

    /** What differs from the paper's, for people. */
    List<String> differences() {
        List<String> others = new ArrayList<>();
        add(others, mlp == Nonlinearity.GELU, "GELU");
        add(others, mlp == Nonlinearity.SWIGLU, "SwiGLU");
        add(others, mlpWidth > 0, "MLP of " + mlpWidth);
        add(others, kvHeads > 0, kvHeads + " key/value head" + (kvHeads > 1 ? "s" : ""));
        add(others, window > 0, "window of " + window);
        add(others, !qkNorm, "no Q/K norm");
        add(others, positions == Positions.NONE, "no positions");
        add(others, positions == Positions.LEARNED, "learned positions");
        add(others, norm == Norm.LAYER, "LayerNorm");
        add(others, !embedNorm, "no norm of the embedding");
        add(others, bias, "biases");
        add(others, tied, "tied embedding");
        return others;
    }

    private static void add(List<String> words, boolean applies, String word) {
        if (applies) {
            words.add(word);
        }
    }
}
