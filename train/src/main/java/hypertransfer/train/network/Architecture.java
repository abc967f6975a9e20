package hypertransfer.train.network;

import hypertransfer.core.Refusal;
import hypertransfer.engine.Dims;
import hypertransfer.engine.Layers.Nonlinearity;
import hypertransfer.train.network.Outline.Kind;
import java.util.ArrayList;
import java.util.List;

/**
 * What a network is, apart from how it is trained.
 *
 * @param variant which of the paper's two networks it is, or differs from by its design
 * @param vocab V
 * @param layers L
 * @param width C
 * @param headWidth the width of a head, D
 * @param sequence T
 */
public record Architecture(
        Variant variant, Design design, int vocab, int layers, int width, int headWidth, int sequence) {
    /** Refuses biases where norms follow: these would depend on the matrices' scale, but not before the biases have grown. */
    public Architecture {
        if (design.bias() && (variant == Variant.M1 || design.qkNorm())) {
            throw new Refusal(
                    "model.bias is true, and norms follow the matrices: set network to M2 and model.qk_norm to"
                            + " false, or model.bias to false");
        }
    }

    /** One of the paper's two networks. */
    public Architecture(Variant variant, int vocab, int layers, int width, int headWidth, int sequence) {
        this(variant, Design.PAPER, vocab, layers, width, headWidth, sequence);
    }

    /** Whether a norm without gain follows values, projections and the MLP's matrices. */
    public boolean postNorm() {
        return variant == Variant.M1;
    }

    /** Whether the loss does not depend on the scale of these hidden matrices; {@code ht invariance} measures it. */
    public boolean invariant(Kind matrix) {
        return matrix == Kind.Q || matrix == Kind.K ? design.qkNorm() : postNorm();
    }

    /** Whether a norm follows every hidden matrix. */
    public boolean invariant() {
        return postNorm() && design.qkNorm();
    }

    /** {@code M2}, {@code M2 with gelu, tied embedding}: the network, and what differs from it, for people. */
    public String label() {
        List<String> others = design.differences();
        return others.isEmpty() ? variant.name() : variant + " with " + String.join(", ", others);
    }

    /** The sizes an engine is opened for. */
    public Dims dims(int batch) {
        int window = design.window() > 0 ? design.window() : sequence;
        return new Dims(batch, sequence, width, headWidth, vocab, kvHeads(), mlpWidth(), window);
    }

    /** Heads of keys, and of values. */
    private int kvHeads() {
        return design.kvHeads() > 0 ? design.kvHeads() : headWidth > 0 ? width / headWidth : 1;
    }

    /** F. */
    private int mlpWidth() {
        // three matrices of 8/3 C are the same work as two of 4 C
        boolean gated = design.mlp() == Nonlinearity.SWIGLU && headWidth > 0;
        int usual = gated ? (int) Math.ceilDiv(8L * width, 3L * headWidth) * headWidth : 4 * width;
        return design.mlpWidth() > 0 ? design.mlpWidth() : usual;
    }

    /** The number of parameters without the head where it is a matrix of its own; sizes are often told so. */
    public long parametersWithoutHead() {
        return parameters() - (design.tied() ? 0 : (long) vocab * width);
    }

    public long parameters() {
        return outlines().stream().mapToLong(Outline::size).sum();
    }

    /**
     * Multiplications and additions of a training step per token, as they are usually counted: six per number of a matrix that
     * something is multiplied by, and six L T C for causal attention.
     */
    public double operations() {
        long hidden = hidden().stream().mapToLong(Outline::size).sum();
        return 6.0 * (hidden + (long) vocab * width) + 6.0 * layers * sequence * width;
    }

    /** The name and shape of every parameter, in the order of {@link Parameters#all}. */
    public List<Outline> outlines() {
        List<Outline> all = new ArrayList<>();
        int keys = kvHeads() * headWidth, F = mlpWidth();
        all.add(new Outline("embed.weight", vocab, width, -1, Kind.EMBEDDING));
        if (design.positions() == Design.Positions.LEARNED) {
            all.add(new Outline("embed.positions", sequence, width, -1, Kind.POSITIONS));
        }
        if (design.embedNorm()) {
            gain(all, -1, "embed.gain");
            bias(all, -1, "embed.norm.bias", width);
        }
        for (int l = 0; l < layers; l++) {
            String at = "blocks." + l + ".";
            all.add(Outline.hidden(l, Kind.Q, width, width));
            all.add(Outline.hidden(l, Kind.K, keys, width));
            all.add(Outline.hidden(l, Kind.V, keys, width));
            gain(all, l, at + "attn.gain");
            all.add(Outline.hidden(l, Kind.O, width, width));
            gain(all, l, at + "mlp.gain");
            if (design.mlp() == Nonlinearity.SWIGLU) {
                all.add(Outline.hidden(l, Kind.GATE, F, width));
            }
            all.add(Outline.hidden(l, Kind.FC, F, width));
            all.add(Outline.hidden(l, Kind.PROJ, width, F));
            bias(all, l, at + "attn.norm.bias", width);
            bias(all, l, at + "attn.qkv.bias", width + 2 * keys);
            bias(all, l, at + "attn.o.bias", width);
            bias(all, l, at + "mlp.norm.bias", width);
            bias(all, l, at + "mlp.fc.bias", F * design.mlp().inputs());
            bias(all, l, at + "mlp.proj.bias", width);
        }
        gain(all, -1, "head.gain");
        bias(all, -1, "head.norm.bias", width);
        if (!design.tied()) {
            all.add(new Outline("head.weight", vocab, width, -1, Kind.HEAD));
        }
        return all;
    }

    /** The hidden matrices among them, in the order of all arrays. */
    public List<Outline> hidden() {
        return outlines().stream().filter(Outline::hidden).toList();
    }

    private void bias(List<Outline> all, int layer, String name, int cols) {
        if (design.bias()) {
            all.add(new Outline(name, 1, cols, layer, Kind.BIAS));
        }
    }

    private void gain(List<Outline> all, int layer, String name) {
        all.add(new Outline(name, 1, width, layer, Kind.GAIN));
    }
}
