package hypertransfer.engine.proof;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Format;
import hypertransfer.engine.Layers.HeadRule;
import hypertransfer.engine.Layers.Nonlinearity;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;

/** Every operation of an engine, one after the other, against the reference engine. */
public final class Comparison {
    /** Sizes that do not fit tiles and vectors, and sizes that do. */
    public static final List<Dims> SIZES = List.of(
            new Dims(2, 13, 18, 6, 37),
            new Dims(3, 24, 32, 16, 61),
            new Dims(2, 150, 64, 32, 300),
            new Dims(1, 200, 128, 64, 257),
            new Dims(2, 257, 256, 128, 576),
            new Dims(1, 384, 128, 128, 61), // whole tiles: attention's backward pass with five products
            new Dims(2, 70, 48, 8, 37, 2, 20, 33), // shared keys, a narrow MLP and a window
            new Dims(1, 100, 320, 64, 61, 1, 680, 100)); // hidden matrices of several tiles

    private static final List<Dims> FP8_SIZES =
            List.of(new Dims(2, 128, 256, 128, 640), new Dims(3, 128, 384, 64, 384, 6, 640, 128));

    /** Those that an engine with weights of this format takes. */
    public static List<Dims> sizes(Format weights) {
        return weights == Format.FP8 ? FP8_SIZES : SIZES;
    }

    private final Pair pair;
    private final int N, T, C, D, V, Q, F;

    private Comparison(Pair pair) {
        this.pair = pair;
        Dims dims = pair.dims();
        N = dims.N();
        T = dims.T();
        C = dims.C();
        D = dims.D();
        V = dims.V();
        Q = dims.Q();
        F = dims.F();
    }

    /** All operations, those of the optimizer on hidden matrices, a slice of one and one of zeros. */
    public static List<Result> run(Function<Dims, Engine> open, Dims dims) {
        int C = dims.C();
        int[][] hidden = {{C, C}, {4 * C, C}, {C, 4 * C}};
        List<Result> results = new ArrayList<>(network(new Pair(open.apply(dims))));
        results.addAll(Movement.run(new Pair(open.apply(dims)), hidden));
        results.addAll(Movement.bases(new Pair(open.apply(dims))));
        return results;
    }

    static List<Result> network(Pair pair) {
        try (pair) {
            Comparison comparison = new Comparison(pair);
            comparison.declare();
            comparison.ends();
            comparison.products();
            comparison.block(true);
            comparison.block(false);
            comparison.others();
            comparison.fused("", "y", "s", "dy", "ds", "dqkv");
            comparison.operands();
            return pair.results();
        }
    }

    private void declare() {
        for (String name : List.of("h", "y", "z", "out", "o", "dy", "dh", "dx", "dz", "dO")) {
            pair.tensor(Role.ACTIVATION, name, N, C);
        }
        for (String name : List.of("r", "zr", "fr", "losses")) {
            pair.tensor(Role.STATISTIC, name, N, 1);
        }
        pair.tensor(Role.ACTIVATION, "qkv", N, Q * D)
                .tensor(Role.ACTIVATION, "dqkv", N, Q * D)
                .tensor(Role.STATISTIC, "rqkv", N, Q)
                .tensor(Role.STATISTIC, "lse", N, C / D)
                .tensor(Role.ACTIVATION, "f", N, F)
                .tensor(Role.ACTIVATION, "s", N, F)
                .tensor(Role.ACTIVATION, "ds", N, F)
                .tensor(Role.WEIGHT, "narrow", C, F)
                .tensor(Role.ACTIVATION, "gated", N, 2 * F)
                .tensor(Role.ACTIVATION, "dgated", N, 2 * F)
                .tensor(Role.STATISTIC, "rgated", N, 2)
                .tensor(Role.WEIGHT, "words", V, C)
                .tensor(Role.GAIN, "gain", 1, C)
                .tensor(Role.WEIGHT, "w", Q * D, C)
                .tensor(Role.GRADIENT, "dwords", V, C)
                .tensor(Role.GRADIENT, "dgain", 1, C)
                .tensor(Role.GAIN, "bias", 1, C)
                .tensor(Role.GRADIENT, "dbias", 1, C)
                .tensor(Role.GAIN, "positions", T, C)
                .tensor(Role.GRADIENT, "dpositions", T, C)
                .tensor(Role.HIDDEN_GRADIENT, "dw", Q * D, C)
                .tensor(Role.WEIGHT, "wide", F, C)
                .tensor(Role.HIDDEN_GRADIENT, "dwide", F, C)
                .tensor(Role.OPERAND, "x8", N, C)
                .tensor(Role.OPERAND, "s8", N, F)
                .tensor(Role.OPERAND_GRADIENT, "dz8", N, C)
                .tensor(Role.OPERAND_GRADIENT, "df8", N, F)
                .tensor(Role.OPERAND_GRADIENT, "dqkv8", N, Q * D)
                .commit();
    }

    /** What has to do with tokens. */
    private void ends() {
        double[] values = new double[N * C];
        Arrays.setAll(values, Math::sin);
        pair.run("write", s -> s.engine().write(s.t("h"), values))
                .same(1, "h")
                .feed()
                .run("embed", s -> s.layers().embed(s.t("words"), s.t("h")))
                .same(1, "h")
                .run("embedBackward", s -> s.layers().embedBackward(s.t("dy"), s.t("dwords")))
                .same(N, "dwords")
                .run(
                        "head without gradient",
                        s -> s.layers().head(s.t("y"), s.t("words"), s.t("losses"), 0, null, null))
                .same(C, "losses");
        for (double scale : new double[] {0, 1.0 / N}) {
            head(scale == 0 ? "head at scale 0" : "head", "y", scale);
        }
        pair.numbers("sum", 1, s -> new double[] {s.engine().sum(s.t("losses"))})
                .numbers("sum of activations", 1, s -> new double[] {s.engine().sum(s.t("f"))});
    }

    private void head(String name, String x, double scale) {
        pair.run(name, s -> s.layers().head(s.t(x), s.t("words"), s.t("losses"), scale, s.t("dx"), s.t("dwords")))
                .same(C, "losses")
                .same(C + V, "dx")
                .same(C + N, "dwords")
                .numbers(name.replace("head", "logits"), C, s -> s.layers().logits(s.t(x), N - 1, s.t("words")));
    }

    /** Two operations at once: a product and what follows it, attention and heads. */
    private void fused(String in, String x, String activation, String dy, String df, String dqkv) {
        Nonlinearity kind = Nonlinearity.RELU_SQUARED;
        HeadRule rule = new HeadRule(true, true, true);
        pair.fill(x, 1)
                .fill("w", Math.sqrt(3.0 / C)) // so that sums of C products are about 1
                .run("productHeads" + in, s -> s.layers().productHeads(s.t(x), s.t("w"), s.t("qkv"), s.t("rqkv"), rule))
                .same(C, "qkv", "rqkv")
                .run("attention" + in, s -> s.layers().attention(s.t("qkv"), s.t("o"), s.t("lse")))
                .same(T, "o", "lse")
                .run(
                        "attentionHeadsBackward" + in,
                        s -> s.layers()
                                .attentionHeadsBackward(
                                        s.t("qkv"), s.t("rqkv"), rule, s.t("o"), s.t("lse"), s.t("dO"), s.t(dqkv)))
                .same(T, dqkv)
                .run(
                        "productActivation" + in,
                        s -> s.layers().productActivation(s.t(x), s.t("wide"), s.t("f"), s.t(activation), kind))
                .same(C, activation)
                .run("product before" + in, s -> s.layers().product(s.t(x), s.t("wide"), s.t("f")))
                .same(C, "f") // which productActivation may leave as it was
                .run(
                        "productActivationBackward" + in,
                        s -> s.layers()
                                .productActivationBackward(
                                        s.t(dy), s.t("narrow"), s.t("f"), s.t(activation), s.t(df), s.t(df), kind))
                .same(C, df);
    }

    /** What an engine may hold in eight bits, with gradients as large as those of a mean over tokens. */
    private void operands() {
        for (String gradient : List.of("dy", "dh", "dO", "dqkv8")) {
            pair.fill(gradient, 1.0 / N);
        }
        pair.fill("narrow", Math.sqrt(3.0 / F))
                .fill("h", 1)
                .fill("x8", 1)
                .run("productInput operand", s -> s.layers().productInput(s.t("dqkv8"), s.t("w"), s.t("dx")))
                .same(Q * D, "dx")
                .run("productWeight operand", s -> s.layers().productWeight(s.t("dqkv8"), s.t("x8"), s.t("dw")))
                .same(N, "dw");
        head("head operand", "x8", 1.0 / N);
        norms(" operand M2", false, false, "x8", "dz8");
        norms(" operand M1", true, false, "x8", "dz8");
        fused(" operand", "x8", "s8", "dz8", "df8", "dqkv8");
        pair.run("product operand", s -> s.layers().product(s.t("s8"), s.t("narrow"), s.t("y")))
                .same(F, "y");
    }

    private void products() {
        pair.run("product", s -> s.layers().product(s.t("y"), s.t("w"), s.t("qkv")))
                .same(C, "qkv")
                .run("productInput", s -> s.layers().productInput(s.t("dqkv"), s.t("w"), s.t("dx")))
                .same(Q * D, "dx")
                .run("productWeight", s -> s.layers().productWeight(s.t("dqkv"), s.t("y"), s.t("dw")))
                .same(N, "dw")
                .run("product wide", s -> s.layers().product(s.t("y"), s.t("wide"), s.t("f")))
                .same(C, "f")
                .run("productWeight wide", s -> s.layers().productWeight(s.t("s"), s.t("y"), s.t("dwide")))
                .same(N, "dwide");
    }

    /** What a block does between products, in M1, which has post norms, and in M2, which has none. */
    private void block(boolean post) {
        String in = post ? " M1" : " M2";
        norms(in, post, false, "y", "dz");
        activation(in, post, Nonlinearity.RELU_SQUARED, "f", "fr", "s");
        pair.fill("qkv", 1) // products of random numbers would make attention look at one key only
                .run("attention" + in, s -> s.layers().attention(s.t("qkv"), s.t("o"), s.t("lse")))
                .same(T, "o", "lse")
                .run(
                        "attentionBackward" + in,
                        s -> s.layers().attentionBackward(s.t("qkv"), s.t("o"), s.t("lse"), s.t("dO"), s.t("dqkv")))
                .same(T, "dqkv");
        heads(in, new HeadRule(true, post, true));
    }

    /** What other networks have there. */
    private void others() {
        for (boolean post : new boolean[] {true, false}) {
            if (C > 2) { // of two numbers a LayerNorm leaves the sign only, and its gradient is rounding
                norms(post ? " layer M1" : " layer", post, true, "y", "dz");
            }
            activation(post ? " gelu M1" : " gelu", post, Nonlinearity.GELU, "f", "fr", "s");
            activation(post ? " swiglu M1" : " swiglu", post, Nonlinearity.SWIGLU, "gated", "rgated", "dgated");
        }
        for (String b : List.of("bias", "positions")) {
            pair.run("addRows " + b, s -> s.layers().addRows(s.t("y"), s.t(b)))
                    .same(1, "y")
                    .run("addRowsBackward " + b, s -> s.layers().addRowsBackward(s.t("dy"), s.t("d" + b)))
                    .same(N, "d" + b);
        }
        heads(" turned only", new HeadRule(false, false, true));
        heads(" normed only", new HeadRule(true, true, false));
        heads(" values only", new HeadRule(false, true, false));
    }

    private void norms(String in, boolean post, boolean center, String y, String dz) {
        pair.run("norm" + in, s -> s.layers().norm(s.t("h"), s.norm(center), s.t(y)))
                .same(C, y, "r")
                .run("normBackward" + in, s -> s.layers().normBackward(s.t("dy"), s.t("h"), s.norm(center), s.t("dx")))
                .same(C, "dx")
                .same(N, "dgain")
                .run("residualNorm" + in, s -> {
                    Tensor zr = post ? s.t("zr") : null;
                    s.layers().residualNorm(s.t("h"), s.t("z"), zr, s.t("out"), s.norm(center), s.t(y));
                })
                .same(C, "zr", "out", y, "r")
                .run("residualNormBackward" + in, s -> {
                    Tensor dy = s.t("dy"), zr = post ? s.t("zr") : null, out = s.t("out");
                    s.layers().residualNormBackward(dy, s.t("z"), zr, out, s.norm(center), s.t("dh"), s.t(dz));
                })
                .same(C, "dh", dz)
                .same(N, "dgain");
    }

    /** The gradient goes to a tensor of its own, or where it came from. */
    private void activation(String in, boolean post, Nonlinearity kind, String f, String fr, String df) {
        pair.run("activation" + in, s -> s.layers().activation(s.t(f), post ? s.t(fr) : null, s.t("s"), kind))
                .same(F, fr, "s")
                .run(
                        "activationBackward" + in,
                        s -> s.layers().activationBackward(s.t(f), post ? s.t(fr) : null, s.t("s"), s.t(df), kind))
                .same(F, df);
    }

    private void heads(String in, HeadRule rule) {
        pair.run("heads" + in, s -> s.layers().heads(s.t("qkv"), s.t("rqkv"), rule))
                .same(D, "qkv", "rqkv")
                .run("headsBackward" + in, s -> s.layers().headsBackward(s.t("dqkv"), s.t("qkv"), s.t("rqkv"), rule))
                .same(D, "dqkv");
    }
}
