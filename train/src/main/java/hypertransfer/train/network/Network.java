package hypertransfer.train.network;

import hypertransfer.core.Refusal;
import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Format;
import hypertransfer.engine.Layers;
import hypertransfer.engine.Layers.HeadRule;
import hypertransfer.engine.Layers.Nonlinearity;
import hypertransfer.engine.Layers.Norm;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.IntConsumer;

/** A GPT as its {@link Architecture} says, forward and backward, written out over an engine's operations. */
public final class Network {
    /** What the forward pass of one block leaves for its backward pass. Post norms leave null where there are none. */
    private record Trace(
            Tensor a, // (N,C) normed input of attention
            Norm attnNorm,
            Tensor qkv, // (N,QD) after norms and rotary
            Tensor rqkv, // (N,Q)
            Tensor o, // (N,C)
            Tensor lse, // (N,H)
            Tensor z, // (N,C) attention's output
            Tensor rz, // (N,1) or null
            Tensor middle, // (N,C) the stream after attention
            Tensor m, // (N,C) normed input of the MLP
            Norm mlpNorm,
            Tensor f, // (N,F), or (N,2F) with a gate
            Tensor rf, // (N,1), (N,2) or null
            Tensor s, // (N,F)
            Tensor y, // (N,C) the MLP's output
            Tensor ry, // (N,1) or null
            Tensor end) {} // (N,C) the stream after the MLP

    private final Engine engine;
    private final Layers layers;
    private final Design design;
    private final HeadRule heads;
    private final boolean postNorm;
    private final Parameters parameters;
    private final boolean recompute;
    private final List<Trace> traces = new ArrayList<>();
    private final Map<String, Tensor> insides = new HashMap<>();
    private final Tensor x, start; // the embedding, and the stream's start
    private final Norm embedNorm; // between them, or null
    private final Tensor last; // the normed stream that the head sees
    private final Norm lastNorm;
    private final Tensor losses; // (N A,1), for each micro-batch of a step
    private final List<Tensor> microLosses = new ArrayList<>();
    private final Tensor dh, dx, dz, dy, dqkv, ds, df; // gradients: of the stream, of what is normed, of z, of y, ...

    /**
     * Declares what the passes need.
     *
     * @param micros micro-batches in a step
     * @param recompute whether blocks share the memory of what happens inside them, and the backward pass computes it
     *     again: the same numbers for a third more work and a fraction of the memory
     */
    public Network(Engine engine, Architecture architecture, Parameters parameters, int micros, boolean recompute) {
        this.engine = engine;
        layers = engine.layers();
        this.design = architecture.design();
        postNorm = architecture.postNorm();
        heads = new HeadRule(design.qkNorm(), postNorm, design.positions() == Design.Positions.ROTARY);
        this.parameters = parameters;
        this.recompute = recompute;
        Dims dims = engine.dims();
        boolean eight = engine.weights() == Format.FP8;
        Role operand = eight ? Role.OPERAND : Role.ACTIVATION,
                gradient = eight ? Role.OPERAND_GRADIENT : Role.ACTIVATION;
        int C = dims.C(),
                QD = dims.Q() * dims.D(),
                F = dims.F(),
                inputs = design.mlp().inputs();
        x = activation("embedding", C);
        embedNorm = design.embedNorm() ? norm(parameters.embedGain, statistic("embedding.r", 1)) : null;
        start = design.embedNorm() ? activation("start", C) : x;
        for (int l = 0; l < architecture.layers(); l++) {
            String at = "blocks." + l + ".";
            Parameters.Block p = parameters.blocks.get(l);
            traces.add(new Trace(
                    inside(operand, at, "a", C),
                    norm(p.attnGain(), statistic(at + "ra", 1)),
                    inside(Role.ACTIVATION, at, "qkv", QD),
                    inside(Role.STATISTIC, at, "rqkv", dims.Q()),
                    inside(Role.ACTIVATION, at, "o", C),
                    inside(Role.STATISTIC, at, "lse", dims.H()),
                    inside(Role.ACTIVATION, at, "z", C),
                    postNorm ? inside(Role.STATISTIC, at, "rz", 1) : null,
                    inside(Role.ACTIVATION, at, "middle", C),
                    inside(operand, at, "m", C),
                    norm(p.mlpGain(), inside(Role.STATISTIC, at, "rm", 1)),
                    inside(Role.ACTIVATION, at, "f", inputs * F),
                    postNorm && !cancels() ? inside(Role.STATISTIC, at, "rf", inputs) : null,
                    inside(operand, at, "s", F),
                    inside(Role.ACTIVATION, at, "y", C),
                    postNorm ? statistic(at + "ry", 1) : null,
                    activation(at + "end", C)));
        }
        last = engine.tensor(operand, "last", dims.N(), C);
        lastNorm = norm(parameters.headGain, statistic("last.r", 1));
        if ((long) micros * dims.N() > Integer.MAX_VALUE) {
            throw new Refusal("model.accumulation gives one process " + micros + " micro-batches of " + dims.N()
                    + " tokens per step, which are 2^31 tokens or more; lower it");
        }
        losses = engine.tensor(Role.STATISTIC, "losses", micros * dims.N(), 1);
        for (int micro = 0; micro < micros; micro++) {
            microLosses.add(engine.slice(losses, "losses." + micro, micro * dims.N(), dims.N()));
        }
        dh = activation("dh", C);
        dx = activation("dx", C);
        dz = activation("dz", C);
        dy = eight ? engine.tensor(gradient, "dy", dims.N(), C) : postNorm ? dz : dh;
        dqkv = engine.tensor(gradient, "dqkv", dims.N(), QD);
        ds = engine.tensor(gradient, "ds", dims.N(), F);
        df = inputs == 1 ? ds : activation("df", inputs * F);
    }

    /**
     * Whether the norm after fc is left out. It scales each row, relu squared makes that a scale of its result's row, and the norm
     * after proj takes it away again: the loss and all gradients stay the same, apart from rounding and the norms' epsilon. So it
     * is left out where rounding is coarse and the engine can then finish the product and the activation in one pass.
     */
    private boolean cancels() {
        return postNorm
                && design.mlp() == Nonlinearity.RELU_SQUARED
                && (engine.weights() == Format.BF16 || engine.weights() == Format.FP8);
    }

    /** The mean cross entropy of a micro-batch. */
    public double loss(int[] inputs, int[] targets) {
        engine.feed(inputs, targets);
        forward();
        layers.head(last, parameters.head.weight(), microLosses.getFirst(), 0, null, null);
        return engine.sum(microLosses.getFirst()) / engine.dims().N();
    }

    /** A step of one micro-batch: adds the gradient of its mean loss to the gradients. */
    public void gradient(int[] inputs, int[] targets) {
        gradient(inputs, targets, 0, null);
    }

    /**
     * Adds micro-batch {@code micro}'s share of the gradient of the step's mean loss to the gradients: in parts for one who sends
     * gradients while others are computed.
     *
     * @param ready told after each part what is complete, a number of {@link Parameters#completed}; null where nobody is
     */
    public void gradient(int[] inputs, int[] targets, int micro, IntConsumer ready) {
        String name = "micro-batch " + micro;
        engine.feed(inputs, targets);
        if (ready == null) {
            engine.replay(name, () -> backward(micro, (part, work) -> work.run(), part -> {}));
        } else {
            backward(micro, (part, work) -> engine.replay(name + part, work), ready);
        }
        layers.embedBackward(atEmbedding(), parameters.embed.gradient()); // its work depends on the tokens
    }

    private void backward(int micro, BiConsumer<String, Runnable> run, IntConsumer ready) {
        run.accept(", head", () -> head(micro));
        ready.accept(traces.size());
        for (int l = traces.size() - 1; l >= 0; l--) {
            int block = l;
            run.accept(", block " + l, () -> backward(block));
            ready.accept(l);
        }
        run.accept(", start", this::backwardStart);
    }

    /** The losses of each micro-batch of the step, token by token. */
    public List<Tensor> losses() {
        return List.copyOf(microLosses);
    }

    /** The mean loss of the step's micro-batches. Waits for the engine. */
    public double meanLoss() {
        return engine.sum(losses) / losses.rows();
    }

    /** The logits of what follows position {@code row} of a micro-batch. */
    public double[] logits(int[] inputs, int row) {
        engine.feed(inputs, inputs);
        forward();
        return layers.logits(last, row, parameters.head.weight());
    }

    private void forward() {
        layers.embed(parameters.embed.weight(), x);
        shift(x, parameters.positions);
        if (design.embedNorm()) {
            layers.norm(x, embedNorm, start);
            shift(start, parameters.embedBias);
        }
        norm(0);
        for (int l = 0; l < traces.size(); l++) {
            Trace t = traces.get(l);
            block(l);
            layers.residualNorm(t.middle, t.y, t.ry, t.end, normAfter(l), normedAfter(l));
            shift(normedAfter(l), biasAfter(l));
        }
    }

    /** The normed input of block l's attention. */
    private void norm(int l) {
        Trace t = traces.get(l);
        layers.norm(before(l), t.attnNorm, t.a);
        shift(t.a, parameters.biases.get(l).attn());
    }

    /** Block l, from the normed input to the MLP's output. */
    private void block(int l) {
        Parameters.Block p = parameters.blocks.get(l);
        Parameters.Biases b = parameters.biases.get(l);
        Trace t = traces.get(l);
        if (b.qkv() == null && !heads.nothing()) {
            layers.productHeads(t.a, p.qkv().weight(), t.qkv, t.rqkv, heads);
        } else {
            layers.product(t.a, p.qkv().weight(), t.qkv);
            shift(t.qkv, b.qkv());
            if (!heads.nothing()) {
                layers.heads(t.qkv, t.rqkv, heads);
            }
        }
        layers.attention(t.qkv, t.o, t.lse);
        layers.product(t.o, p.o().weight(), t.z);
        shift(t.z, b.o());
        layers.residualNorm(before(l), t.z, t.rz, t.middle, t.mlpNorm, t.m);
        shift(t.m, b.mlp());
        if (b.fc() == null && t.rf == null) {
            layers.productActivation(t.m, p.fc().weight(), t.f, t.s, design.mlp());
        } else {
            layers.product(t.m, p.fc().weight(), t.f);
            shift(t.f, b.fc());
            layers.activation(t.f, t.rf, t.s, design.mlp());
        }
        layers.product(t.s, p.proj().weight(), t.y);
        shift(t.y, b.proj());
    }

    /** The loss of a micro-batch and its gradient at the head's input, in dx. */
    private void head(int micro) {
        forward();
        Tensor head = parameters.head.weight();
        layers.head(last, head, microLosses.get(micro), 1.0 / losses.rows(), dx, parameters.head.gradient());
        engine.zero(List.of(dh));
    }

    /** On entry dx is the loss's gradient at what follows block l's norm after it, on return at its attention's input. */
    private void backward(int l) {
        Parameters.Block p = parameters.blocks.get(l);
        Parameters.Biases b = parameters.biases.get(l);
        Trace t = traces.get(l);
        if (recompute && l < traces.size() - 1) { // the last block's is still there
            norm(l);
            block(l);
        }
        throughShift(dx, biasAfter(l));
        layers.residualNormBackward(dx, t.y, t.ry, t.end, normAfter(l), dh, dy);
        throughShift(dy, b.proj());
        layers.productWeight(dy, t.s, p.proj().gradient());
        if (b.fc() == null && t.rf == null) {
            layers.productActivationBackward(dy, p.proj().weight(), t.f, t.s, ds, df, design.mlp());
        } else {
            layers.productInput(dy, p.proj().weight(), ds);
            layers.activationBackward(t.f, t.rf, ds, df, design.mlp());
        }
        throughShift(df, b.fc());
        layers.productWeight(df, t.m, p.fc().gradient());
        layers.productInput(df, p.fc().weight(), dx);
        throughShift(dx, b.mlp());

        layers.residualNormBackward(dx, t.z, t.rz, t.middle, t.mlpNorm, dh, dz);
        Tensor through = postNorm ? dz : dh;
        throughShift(through, b.o());
        layers.productWeight(through, t.o, p.o().gradient());
        layers.productInput(through, p.o().weight(), dx);
        layers.attentionHeadsBackward(t.qkv, t.rqkv, heads, t.o, t.lse, dx, dqkv);
        throughShift(dqkv, b.qkv());
        layers.productWeight(dqkv, t.a, p.qkv().gradient());
        layers.productInput(dqkv, p.qkv().weight(), dx);
    }

    /** From the first block's input back to the embedding's output, again in dx. */
    private void backwardStart() {
        throughShift(dx, parameters.biases.getFirst().attn());
        layers.residualNormBackward(dx, null, null, start, traces.getFirst().attnNorm, dh, null);
        if (design.embedNorm()) {
            throughShift(dh, parameters.embedBias);
            layers.normBackward(dh, x, embedNorm, dx);
        }
        throughShift(atEmbedding(), parameters.positions);
    }

    /** The gradient at the embedding, after the backward pass. */
    private Tensor atEmbedding() {
        return design.embedNorm() ? dx : dh;
    }

    /** The stream that block l reads. */
    private Tensor before(int l) {
        return l == 0 ? start : traces.get(l - 1).end;
    }

    /** After block l the stream is normed for the next block, or for the head. */
    private Norm normAfter(int l) {
        return l + 1 < traces.size() ? traces.get(l + 1).attnNorm : lastNorm;
    }

    private Parameter biasAfter(int l) {
        return l + 1 < traces.size() ? parameters.biases.get(l + 1).attn() : parameters.headBias;
    }

    /** Adds a bias, or positions, where there is one. */
    private void shift(Tensor y, Parameter bias) {
        if (bias != null) {
            layers.addRows(y, bias.weight());
        }
    }

    private void throughShift(Tensor dy, Parameter bias) {
        if (bias != null) {
            layers.addRowsBackward(dy, bias.gradient());
        }
    }

    private Tensor normedAfter(int l) {
        return l + 1 < traces.size() ? traces.get(l + 1).a : last;
    }

    private Norm norm(Parameter gain, Tensor r) {
        return new Norm(gain.weight(), gain.gradient(), r, design.norm() == Design.Norm.LAYER);
    }

    private Tensor activation(String name, int cols) {
        return engine.tensor(Role.ACTIVATION, name, engine.dims().N(), cols);
    }

    private Tensor statistic(String name, int cols) {
        return engine.tensor(Role.STATISTIC, name, engine.dims().N(), cols);
    }

    /** What a block keeps to itself: a tensor of its own, or, where it is computed again, one that all blocks share. */
    private Tensor inside(Role role, String block, String name, int cols) {
        return insides.computeIfAbsent(
                recompute ? name : block + name,
                n -> engine.tensor(role, n, engine.dims().N(), cols));
    }
}
