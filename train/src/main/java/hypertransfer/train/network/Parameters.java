package hypertransfer.train.network;

import hypertransfer.engine.Engine;
import hypertransfer.engine.Layers.Nonlinearity;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.train.network.Outline.Kind;
import hypertransfer.train.network.Ownership.Share;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * All parameters of a network, declared on an engine. The three matrices q, k, v of a block lie in one, and so do gate and fc
 * where there is a gate. The network sees every parameter whole; the optimizer sees the pieces that this rank owns, which in one process is everything.
 */
public final class Parameters {
    /** Where the masters of hidden matrices are, beside the weights that the network is evaluated at. */
    public enum Masters {
        /** A master is the weight itself, unless the engine has another number format for weights. */
        SHARED,
        /** A master is a tensor of its own, so that the network can be evaluated at a multiple of it. */
        SEPARATE,
        /** A master is a tensor of its own in double precision. */
        EXACT
    }

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
    public final Share share;
    private final Map<String, Outline> outlines = new HashMap<>();
    private final List<Parameter> all = new ArrayList<>();
    private final List<Parameter> own = new ArrayList<>();

    /** Of one process whose steps have one micro-batch. */
    public Parameters(Engine engine, Architecture architecture, Masters masters) {
        this(engine, architecture, masters, new Share(architecture, 1, 0, 1));
    }

    public Parameters(Engine engine, Architecture architecture, Masters masters, Share share) {
        this.engine = engine;
        this.masters = masters;
        this.share = share;
        this.design = architecture.design();
        share.outlines().forEach(outline -> outlines.put(outline.name(), outline));
        embed = matrix("embed.weight");
        positions = added("embed.positions");
        embedGain = added("embed.gain");
        embedBias = added("embed.norm.bias");
        for (int l = 0; l < architecture.layers(); l++) {
            String attn = "blocks." + l + ".attn.", mlp = "blocks." + l + ".mlp.";
            blocks.add(new Block(
                    joined(attn, "q", "k", "v"),
                    added(attn + "gain"),
                    matrix(attn + "o.weight"),
                    added(mlp + "gain"),
                    design.mlp() == Nonlinearity.SWIGLU ? joined(mlp, "gate", "fc") : matrix(mlp + "fc.weight"),
                    matrix(mlp + "proj.weight")));
            biases.add(new Biases(
                    added(attn + "norm.bias"),
                    added(attn + "qkv.bias"),
                    added(attn + "o.bias"),
                    added(mlp + "norm.bias"),
                    added(mlp + "fc.bias"),
                    added(mlp + "proj.bias")));
        }
        headGain = added("head.gain");
        headBias = added("head.norm.bias");
        head = design.tied() ? embed : matrix("head.weight");
    }

    /**
     * After which part of the backward pass a parameter's gradient is complete: a hidden matrix's after its block, the
     * head's matrix before all blocks, after the number of blocks; -1 for the embedding, which is at the end, and for gains.
     */
    public int completed(Outline parameter) {
        return parameter.kind() == Kind.HEAD ? blocks.size() : parameter.hidden() ? parameter.layer() : -1;
    }

    /** Every parameter under the name it has in files, always in the same order. */
    public List<Parameter> all() {
        return List.copyOf(all);
    }

    public List<Parameter> hidden() {
        return all.stream().filter(Parameter::hidden).toList();
    }

    /**
     * What the optimizer of this rank moves, in the order of {@link Share#own}: a piece's gradient is the sum over the
     * step's micro-batches.
     */
    public List<Parameter> own() {
        return List.copyOf(own);
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

    private Parameter matrix(String name) {
        return listed(declare(Role.WEIGHT, outlines.get(name)));
    }

    /** A gain, or what is added, a bias or positions; null where the architecture has none. */
    private Parameter added(String name) {
        return outlines.containsKey(name) ? listed(declare(Role.GAIN, outlines.get(name))) : null;
    }

    /** Matrices one below the other in one, so that one product serves all. */
    private Parameter joined(String at, String... parts) {
        List<Outline> own = Stream.of(parts)
                .map(part -> outlines.get(at + part + ".weight"))
                .toList();
        String name = at + String.join("", parts) + ".weight";
        int rows = own.stream().mapToInt(Outline::rows).sum(), from = 0;
        Outline first = own.getFirst();
        Parameter whole = declare(Role.WEIGHT, new Outline(name, rows, first.cols(), first.layer(), first.kind()));
        for (Outline part : own) {
            Tensor weight = engine.slice(whole.weight(), part.name(), from, part.rows());
            Tensor gradient = engine.slice(whole.gradient(), part.name(), from, part.rows());
            listed(new Parameter(part, weight, whole.separate() ? null : weight, gradient));
            from += part.rows();
        }
        return whole;
    }

    private Parameter declare(Role role, Outline o) {
        boolean separate = engine.separateWeights() || o.hidden() && masters != Masters.SHARED;
        Tensor weight = engine.tensor(separate ? role : Role.MASTER, o.name(), o.rows(), o.cols());
        Tensor gradient = gradient(o.name(), o.rows(), o.cols(), o.hidden());
        return new Parameter(o, weight, separate ? null : weight, gradient);
    }

    private Tensor gradient(String name, int rows, int cols, boolean hidden) {
        return engine.tensor(hidden ? Role.HIDDEN_GRADIENT : Role.GRADIENT, name, rows, cols);
    }

    /** Adds a parameter, and what this rank owns of it. */
    private Parameter listed(Parameter parameter) {
        int number = all.size();
        all.add(parameter);
        share.own().stream().filter(piece -> piece.parameter() == number).forEach(piece -> own(parameter, piece));
        return all.get(number);
    }

    private void own(Parameter whole, Ownership.Piece piece) {
        String name = whole.name();
        int rows = piece.rows(), cols = piece.whole().cols();
        Tensor weight = weight(piece);
        Role role = whole.hidden() && masters == Masters.EXACT ? Role.EXACT_MASTER : Role.MASTER;
        Tensor master = whole.separate() ? engine.tensor(role, name, rows, cols) : weight;
        Tensor sum = share.sums() ? gradient(name, rows, cols, whole.hidden()) : gradient(piece);
        Parameter owned = new Parameter(whole.outline(), weight, master, sum);
        own.add(owned);
        if (piece.isWhole()) { // so that whoever looks at a whole parameter of one process finds its master
            all.set(piece.parameter(), new Parameter(whole.outline(), weight, master, whole.gradient()));
        }
    }
}
