package hypertransfer.train.network;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Nonlinearity;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * All parameters of a network, declared on an engine. The three matrices q, k, v of a block lie in one, and so do gate and fc
 * where there is a gate. The network sees every parameter whole; the optimizer sees the pieces that this rank owns, which in one process is everything.
 */
public final class Parameters {

    /** One block's parameters; qkv is q, k and v one below the other, fc the gate, if there is one, and fc. */
    record Block(Parameter qkv, Parameter attnGain, Parameter o, Parameter mlpGain, Parameter fc, Parameter proj) {}

    /** A block's biases, null where it has none: of the norms before attention and the MLP, and of what the matrices give. */
    record Biases(Parameter attn, Parameter qkv, Parameter o, Parameter mlp, Parameter fc, Parameter proj) {}

    final Parameter embed;
    final Parameter positions; // or null
    final Parameter embedGain;
    final Parameter embedBias; // or null
    final List<Block> blocks = new ArrayList<>();
    final List<Biases> biases = new ArrayList<>();
    final Parameter headGain;
    final Parameter headBias; // or null
    final Parameter head;
    private final Engine engine;
    private final Design design;
    private final Masters masters;
    private final Share share;
    private final List<Parameter> all = new ArrayList<>();
    private final List<Parameter> own = new ArrayList<>();
    private Parameter noGain;

    /** Of one process whose steps have one micro-batch. */
    public Parameters(Engine engine, Architecture architecture, Masters masters) {
        this(engine, architecture, masters, Share.whole(architecture, 1));
    }

    /** Of one rank's share. */
    public Parameters(Engine engine, Architecture architecture, Masters masters, Share share) {
        this.engine = engine;
        this.masters = masters;
        this.share = share;
        this.design = architecture.design();
        Dims dims = engine.dims();
        int C = dims.C(), keys = dims.G() * dims.D(), F = dims.F();
        embed = single("embed.weight", dims.V(), C, false);
        positions = design.positions() == Design.Positions.LEARNED
                ? listed(declare(Role.GAIN, "embed.positions", dims.T(), C, false))
                : null;
        embedGain = design.embedNorm() ? gain("embed.gain", C) : null;
        embedBias = design.embedNorm() ? bias("embed.norm.bias", C) : null;
        for (int l = 0; l < architecture.layers(); l++) {
            String attn = "blocks." + l + ".attn.", mlp = "blocks." + l + ".mlp.";
            blocks.add(new Block(
                    joined(attn, C, List.of("q", "k", "v"), C, keys, keys),
                    gain(attn + "gain", C),
                    single(attn + "o.weight", C, C, true),
                    gain(mlp + "gain", C),
                    design.mlp() == Nonlinearity.SWIGLU
                            ? joined(mlp, C, List.of("gate", "fc"), F, F)
                            : single(mlp + "fc.weight", F, C, true),
                    single(mlp + "proj.weight", C, F, true)));
            biases.add(new Biases(
                    bias(attn + "norm.bias", C),
                    bias(attn + "qkv.bias", C + 2 * keys),
                    bias(attn + "o.bias", C),
                    bias(mlp + "norm.bias", C),
                    bias(mlp + "fc.bias", F * design.mlp().inputs()),
                    bias(mlp + "proj.bias", C)));
        }
        headGain = gain("head.gain", C);
        headBias = bias("head.norm.bias", C);
        head = design.tied() ? embed : single("head.weight", dims.V(), C, false);
    }

    /** What norms without gain have instead: zeros that nobody trains. None where they have gains. */
    Optional<Parameter> noGain() {
        return Optional.ofNullable(noGain);
    }

    /** The names of an architecture's hidden matrices, in the order of all arrays. */
    public static List<String> hidden(Architecture architecture) {
        return architecture.outlines().stream()
                .filter(Outline::hidden)
                .map(Outline::name)
                .toList();
    }

    /**
     * After which part of the backward pass a parameter's gradient is complete: a hidden matrix's after its block, the
     * head's matrix before all blocks, after the number of blocks; -1 for the embedding, which is at the end, and for gains.
     */
    public int completed(Outline parameter) {
        if (parameter.hidden()) {
            return Integer.parseInt(parameter.name().split("\\.")[1]);
        }
        return parameter.name().equals("head.weight") ? blocks.size() : -1;
    }

    /** Every parameter under the name it has in files, always in the same order. */
    public List<Parameter> all() {
        return List.copyOf(all);
    }

    public List<Parameter> hidden() {
        return all.stream().filter(Parameter::hidden).toList();
    }

    public List<Parameter> rest() {
        return all.stream().filter(parameter -> !parameter.hidden()).toList();
    }

    /**
     * What the optimizer of this rank moves, in the order of {@link Share#own}: a piece's gradient is the sum over the
     * step's micro-batches.
     */
    public List<Parameter> own() {
        return List.copyOf(own);
    }

    public Share share() {
        return share;
    }

    /** What the backward pass adds to, to be set to zero before each micro-batch. */
    public List<Tensor> gradients() {
        return all.stream().map(Parameter::gradient).toList();
    }

    /** The rows of a parameter's gradient that a piece is of. */
    public Tensor gradient(Ownership.Piece piece) {
        return rows(all.get(piece.parameter()).gradient(), piece);
    }

    /** The rows of a parameter's weight that a piece is of. */
    public Tensor weight(Ownership.Piece piece) {
        return rows(all.get(piece.parameter()).weight(), piece);
    }

    private Tensor rows(Tensor whole, Ownership.Piece piece) {
        return piece.isWhole() ? whole : engine.slice(whole, whole.name(), piece.from(), piece.rows());
    }

    private Parameter single(String name, int rows, int cols, boolean hidden) {
        return listed(declare(Role.WEIGHT, name, rows, cols, hidden));
    }

    private Parameter gain(String name, int cols) {
        if (design.gain()) {
            return listed(declare(Role.GAIN, name, 1, cols, false));
        }
        noGain = noGain == null ? declare(Role.GAIN, "no gain", 1, cols, false) : noGain;
        return noGain;
    }

    private Parameter bias(String name, int cols) {
        return design.bias() ? listed(declare(Role.GAIN, name, 1, cols, false)) : null;
    }

    /** Matrices one below the other in one, so that one product serves all. */
    private Parameter joined(String at, int cols, List<String> parts, int... rows) {
        String name = at + String.join("", parts) + ".weight";
        Parameter whole = declare(Role.WEIGHT, name, Arrays.stream(rows).sum(), cols, true);
        int from = 0;
        for (int k = 0; k < rows.length; k++) {
            listed(part(whole, at + parts.get(k) + ".weight", from, rows[k]));
            from += rows[k];
        }
        return whole;
    }

    private Parameter declare(Role role, String name, int rows, int cols, boolean hidden) {
        boolean separate = engine.separateWeights() || hidden && masters != Masters.SHARED;
        Tensor weight = engine.tensor(separate ? role : Role.MASTER, name, rows, cols);
        return new Parameter(name, hidden, weight, separate ? null : weight, gradient(name, rows, cols, hidden));
    }

    private Tensor gradient(String name, int rows, int cols, boolean hidden) {
        return engine.tensor(hidden ? Role.HIDDEN_GRADIENT : Role.GRADIENT, name, rows, cols);
    }

    private Parameter part(Parameter whole, String name, int from, int rows) {
        Tensor weight = engine.slice(whole.weight(), name, from, rows);
        Tensor gradient = engine.slice(whole.gradient(), name, from, rows);
        return new Parameter(name, true, weight, whole.separate() ? null : weight, gradient);
    }

    /** Adds a parameter, and what this rank owns of it. */
    private Parameter listed(Parameter parameter) {
        int number = all.size();
        all.add(parameter);
        for (Ownership.Piece piece : share.own()) {
            if (piece.parameter() == number) {
                own(parameter, piece);
            }
        }
        return all.get(number);
    }

    private void own(Parameter whole, Ownership.Piece piece) {
        String name = whole.name();
        int rows = piece.rows(), cols = piece.whole().cols();
        Tensor weight = weight(piece);
        Role role = whole.hidden() && masters == Masters.EXACT ? Role.EXACT_MASTER : Role.MASTER;
        Tensor master = whole.separate() ? engine.tensor(role, name, rows, cols) : weight;
        Tensor sum = share.sums() ? gradient(name, rows, cols, whole.hidden()) : gradient(piece);
        Parameter owned = new Parameter(name, whole.hidden(), weight, master, sum);
        own.add(owned);
        if (piece.isWhole()) { // so that whoever looks at a whole parameter of one process finds its master
            all.set(piece.parameter(), new Parameter(name, whole.hidden(), weight, master, whole.gradient()));
        }
    }
}
