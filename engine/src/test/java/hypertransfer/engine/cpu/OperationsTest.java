package hypertransfer.engine.cpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.engine.Dims;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every operation of the network against the reference, over sizes that fit no vector and no tile. */
class OperationsTest {
    record Case(Dims dims, int threads) {}

    static Stream<Case> cases() {
        return Stream.of(
                        new Dims(1, 1, 2, 2, 1),
                        new Dims(1, 5, 6, 6, 13),
                        new Dims(3, 25, 26, 2, 207),
                        new Dims(1, 207, 12, 4, 25),
                        new Dims(2, 33, 78, 26, 702),
                        new Dims(2, 64, 128, 32, 256),
                        new Dims(1, 70, 20, 10, 4098))
                .flatMap(dims -> IntStream.of(1, 2, 4).mapToObj(threads -> new Case(dims, threads)));
    }

    private static Pair pair(Case c) {
        return new Pair(c.dims, c.threads);
    }

    private static int[] tokens(Dims dims, long seed) {
        return new Random(seed).ints(dims.N(), 0, dims.V()).toArray();
    }

    @ParameterizedTest
    @MethodSource("cases")
    void embedding(Case c) {
        Dims d = c.dims;
        try (Pair p = pair(c).tensor("w", d.V(), d.C())
                .tensor("x", d.N(), d.C())
                .tensor("dx", d.N(), d.C())
                .tensor("dw", d.V(), d.C())
                .commit()) {
            p.run((e, t) -> {
                        e.feed(tokens(d, 1), tokens(d, 2));
                        e.embed(t.apply("w"), t.apply("x"));
                        e.embedBackward(t.apply("dx"), t.apply("dw"));
                    })
                    .same(1, "x")
                    .same(d.N(), "dw");
        }
    }

    @ParameterizedTest
    @MethodSource("cases")
    void products(Case c) {
        Dims d = c.dims;
        int in = d.C(), out = 3 * d.C();
        try (Pair p = pair(c).tensor("x", d.N(), in)
                .tensor("w", out, in)
                .tensor("y", d.N(), out)
                .tensor("dy", d.N(), out)
                .tensor("dx", d.N(), in)
                .tensor("dw", out, in)
                .commit()) {
            p.run((e, t) -> {
                        e.product(t.apply("x"), t.apply("w"), t.apply("y"));
                        e.productInput(t.apply("dy"), t.apply("w"), t.apply("dx"));
                        e.productWeight(t.apply("dy"), t.apply("x"), t.apply("dw"));
                    })
                    .same(in, "y")
                    .same(out, "dx")
                    .same(d.N(), "dw");
        }
    }

    @ParameterizedTest
    @MethodSource("cases")
    void norms(Case c) {
        Dims d = c.dims;
        try (Pair p = pair(c).tensor("x", d.N(), d.C())
                .tensor("gain", 1, d.C())
                .tensor("y", d.N(), d.C())
                .tensor("r", d.N(), 1)
                .tensor("dy", d.N(), d.C())
                .tensor("dx", d.N(), d.C())
                .tensor("dgain", 1, d.C())
                .commit()) {
            p.run((e, t) -> {
                        e.norm(t.apply("x"), t.apply("gain"), t.apply("y"), t.apply("r"));
                        e.normBackward(
                                t.apply("dy"),
                                t.apply("x"),
                                t.apply("gain"),
                                t.apply("r"),
                                t.apply("dx"),
                                t.apply("dgain"));
                    })
                    .same(d.C(), "y", "r", "dx")
                    .same(d.N(), "dgain");
        }
    }

    @ParameterizedTest
    @MethodSource("cases")
    void residualNorms(Case c) {
        Dims d = c.dims;
        for (boolean post : new boolean[] {false, true}) {
            try (Pair p = pair(c).tensor("h", d.N(), d.C())
                    .tensor("z", d.N(), d.C())
                    .tensor("zr", d.N(), 1)
                    .tensor("out", d.N(), d.C())
                    .tensor("gain", 1, d.C())
                    .tensor("y", d.N(), d.C())
                    .tensor("r", d.N(), 1)
                    .tensor("dy", d.N(), d.C())
                    .tensor("dh", d.N(), d.C())
                    .tensor("dz", d.N(), d.C())
                    .tensor("dgain", 1, d.C())
                    .commit()) {
                p.run((e, t) -> {
                            var zr = post ? t.apply("zr") : null;
                            e.residualNorm(
                                    t.apply("h"),
                                    t.apply("z"),
                                    zr,
                                    t.apply("out"),
                                    t.apply("gain"),
                                    t.apply("y"),
                                    t.apply("r"));
                            e.residualNormBackward(
                                    t.apply("dy"),
                                    t.apply("z"),
                                    zr,
                                    t.apply("out"),
                                    t.apply("gain"),
                                    t.apply("r"),
                                    t.apply("dh"),
                                    post ? t.apply("dz") : null,
                                    t.apply("dgain"));
                        })
                        .same(d.C(), "zr", "out", "y", "r", "dh", "dz")
                        .same(d.N(), "dgain");
            }
        }
    }

    @ParameterizedTest
    @MethodSource("cases")
    void heads(Case c) {
        Dims d = c.dims;
        for (boolean normV : new boolean[] {false, true}) {
            try (Pair p = pair(c).tensor("qkv", d.N(), 3 * d.C())
                    .tensor("r", d.N(), 3 * d.H())
                    .tensor("dqkv", d.N(), 3 * d.C())
                    .commit()) {
                p.run((e, t) -> {
                            e.heads(t.apply("qkv"), t.apply("r"), normV);
                            e.headsBackward(t.apply("dqkv"), t.apply("qkv"), t.apply("r"), normV);
                        })
                        .same(d.D(), "qkv", "r", "dqkv");
            }
        }
    }

    @ParameterizedTest
    @MethodSource("cases")
    void attention(Case c) {
        Dims d = c.dims;
        for (double spread : new double[] {1, 20}) { // 20: some rows are nearly one-hot, and exponents reach zero
            try (Pair p = pair(c).tensor("qkv", d.N(), 3 * d.C())
                    .tensor("o", d.N(), d.C())
                    .tensor("lse", d.N(), d.H())
                    .tensor("dO", d.N(), d.C())
                    .tensor("dqkv", d.N(), 3 * d.C())
                    .commit()) {
                // A score's rounding grows with it, and becomes a relative error of its exponential.
                int length = (int) Math.ceil(d.T() * Math.max(1, Math.pow(spread, 4) * d.D()));
                p.fill("qkv", spread)
                        .run((e, t) -> {
                            e.attention(t.apply("qkv"), t.apply("o"), t.apply("lse"));
                            e.attentionBackward(
                                    t.apply("qkv"), t.apply("o"), t.apply("lse"), t.apply("dO"), t.apply("dqkv"));
                        })
                        .same(length, "o", "lse", "dqkv");
            }
        }
    }

    @ParameterizedTest
    @MethodSource("cases")
    void activation(Case c) {
        Dims d = c.dims;
        for (boolean post : new boolean[] {false, true}) {
            try (Pair p = pair(c).tensor("f", d.N(), 4 * d.C())
                    .tensor("fr", d.N(), 1)
                    .tensor("s", d.N(), 4 * d.C())
                    .tensor("ds", d.N(), 4 * d.C())
                    .commit()) {
                p.run((e, t) -> {
                            var fr = post ? t.apply("fr") : null;
                            e.activation(t.apply("f"), fr, t.apply("s"));
                            e.activationBackward(t.apply("f"), fr, t.apply("ds"));
                        })
                        .same(4 * d.C(), "s", "fr", "ds");
            }
        }
    }

    static Stream<Case> headCases() {
        // The last has more logits than the engine keeps at a time.
        return Stream.concat(cases(), Stream.of(new Case(new Dims(1, 70, 2, 2, 270_001), 2)));
    }

    @ParameterizedTest
    @MethodSource("headCases")
    void head(Case c) {
        Dims d = c.dims;
        try (Pair p = pair(c).tensor("x", d.N(), d.C())
                .tensor("w", d.V(), d.C())
                .tensor("losses", d.N(), 1)
                .tensor("eval", d.N(), 1)
                .tensor("dx", d.N(), d.C())
                .tensor("dw", d.V(), d.C())
                .commit()) {
            p.fill("dw", 0)
                    .run((e, t) -> {
                        e.feed(tokens(d, 1), tokens(d, 2));
                        e.head(t.apply("x"), t.apply("w"), t.apply("losses"), 0.25, t.apply("dx"), t.apply("dw"));
                        e.head(t.apply("x"), t.apply("w"), t.apply("eval"), 0, null, null);
                    })
                    .same(d.C(), "losses", "eval")
                    .same(d.C() + d.V(), "dx")
                    .same(d.C() + d.N(), "dw");
            List<double[]> logits = new ArrayList<>();
            p.run((e, t) -> logits.add(e.logits(t.apply("x"), d.N() - 1, t.apply("w"))));
            Pair.same("logits", d.C(), logits.getFirst(), logits.getLast());
            List<Double> sums = new ArrayList<>();
            p.run((e, t) -> sums.add(e.sum(t.apply("x"))));
            assertThat(sums.getFirst()).isCloseTo(sums.getLast(), within(1e-12 * d.N() * d.C()));
        }
    }
}
