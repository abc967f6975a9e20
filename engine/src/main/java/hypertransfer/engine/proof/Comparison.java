package hypertransfer.engine.proof;

import hypertransfer.engine.Checked;
import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Polynomial;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.reference.ReferenceEngine;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Consumer;

/**
 * Every operation of an engine, one after the other, against the reference engine. Both start each operation with the
 * same numbers, as the engine's formats hold them, so that an error shows where it is made.
 */
public final class Comparison {
    /** Sizes that do not fit tiles and vectors, and such that do. */
    public static final List<Dims> SIZES = List.of(
            new Dims(2, 13, 18, 6, 37),
            new Dims(3, 24, 32, 16, 61),
            new Dims(2, 150, 64, 32, 300),
            new Dims(1, 200, 128, 64, 257),
            new Dims(2, 257, 256, 128, 512));

    /**
     * How far one result of an operation is from the reference's.
     *
     * @param error the length of the difference over the length of the reference's result
     */
    public record Result(String operation, String tensor, double error) {}

    /** One engine and its tensors by name. */
    private record Side(Engine engine, Map<String, Tensor> tensors) {
        Tensor t(String name) {
            return tensors.get(name);
        }

        List<Tensor> all(String... names) {
            return Arrays.stream(names).map(this::t).toList();
        }
    }

    private static final String[] MATRICES = {"g.q", "g.k", "g.v", "g.fc", "g.proj", "g.zero"};
    private static final double[] SCALES = {1, 0.5, 2, 1, 1, 1};

    private final Side mine;
    private final Side oracle;
    private final Random random;
    private final List<Result> results = new ArrayList<>();

    private Comparison(Engine engine, long seed) {
        mine = new Side(engine, new LinkedHashMap<>());
        oracle = new Side(new Checked(new ReferenceEngine(engine.dims())), new LinkedHashMap<>());
        random = new Random(seed);
    }

    /** Compares all operations; the engine must be fresh, and is committed here. */
    public static List<Result> run(Engine engine, long seed) {
        Comparison comparison = new Comparison(engine, seed);
        comparison.declare(engine.dims());
        engine.commit();
        comparison.oracle.engine.commit();
        comparison.mine.tensors.keySet().forEach(comparison::fill);
        comparison.network(engine.dims());
        comparison.optimizer();
        return comparison.results;
    }

    private void declare(Dims d) {
        int N = d.N(), C = d.C(), H = d.H();
        for (String name : List.of("h", "y", "z", "out", "o", "dy", "dh", "dx", "dz", "dO")) {
            declare(Role.ACTIVATION, name, N, C);
        }
        for (String name : List.of("r", "zr", "fr", "losses")) {
            declare(Role.STATISTIC, name, N, 1);
        }
        declare(Role.ACTIVATION, "qkv", N, 3 * C);
        declare(Role.ACTIVATION, "dqkv", N, 3 * C);
        declare(Role.STATISTIC, "rqkv", N, 3 * H);
        declare(Role.STATISTIC, "lse", N, H);
        declare(Role.ACTIVATION, "f", N, 4 * C);
        declare(Role.ACTIVATION, "s", N, 4 * C);
        declare(Role.WEIGHT, "words", d.V(), C);
        declare(Role.GAIN, "gain", 1, C);
        declare(Role.WEIGHT, "wqkv", 3 * C, C);
        declare(Role.WEIGHT, "wfc", 4 * C, C);
        declare(Role.GRADIENT, "dwords", d.V(), C);
        declare(Role.GRADIENT, "dgain", 1, C);
        declare(Role.HIDDEN_GRADIENT, "dwqkv", 3 * C, C);
        declare(Role.HIDDEN_GRADIENT, "dwfc", 4 * C, C);
        int[][] shapes = {{C, C}, {C, C}, {C, C}, {4 * C, C}, {C, 4 * C}, {C, C}};
        for (int k = 0; k < MATRICES.length; k++) {
            declare(Role.HIDDEN_GRADIENT, MATRICES[k], shapes[k][0], shapes[k][1]);
            declare(Role.STATE, "m" + MATRICES[k], shapes[k][0], shapes[k][1]);
            declare(Role.STATE, "v" + MATRICES[k], shapes[k][0], shapes[k][1]);
            declare(Role.MASTER, "w" + MATRICES[k], shapes[k][0], shapes[k][1]);
            declare(Role.WEIGHT, "weight" + MATRICES[k], shapes[k][0], shapes[k][1]);
        }
    }

    private void declare(Role role, String name, int rows, int cols) {
        mine.tensors.put(name, mine.engine.tensor(role, name, rows, cols));
        oracle.tensors.put(name, oracle.engine.tensor(role, name, rows, cols));
    }

    private void fill(String name) {
        double[] values = new double[Math.toIntExact(mine.t(name).size())];
        boolean zero = name.endsWith("zero"), square = name.startsWith("vg.");
        Arrays.setAll(values, i -> zero ? 0 : square ? Math.abs(random.nextGaussian()) : random.nextGaussian());
        mine.engine.write(mine.t(name), values);
        align(name);
    }

    /** The reference goes on with what the engine has. */
    private void align(String name) {
        oracle.engine.write(oracle.t(name), mine.engine.read(mine.t(name)));
    }

    private void network(Dims d) {
        int[] inputs = random.ints(d.N(), 0, d.V()).map(v -> v % 3 == 0 ? 1 : v).toArray();
        int[] targets = random.ints(d.N(), 0, d.V()).toArray();
        both("feed", s -> s.engine.feed(inputs, targets));
        both("embed", s -> s.engine.embed(s.t("words"), s.t("h")), "h");
        both("embedBackward", s -> s.engine.embedBackward(s.t("dy"), s.t("dwords")), "dwords");
        both("norm", s -> s.engine.norm(s.t("h"), s.t("gain"), s.t("y"), s.t("r")), "y", "r");
        both(
                "normBackward",
                s -> s.engine.normBackward(s.t("dy"), s.t("h"), s.t("gain"), s.t("r"), s.t("dx"), s.t("dgain")),
                "dx",
                "dgain");
        for (boolean post : new boolean[] {true, false}) {
            String zr = post ? "zr" : "none", fr = post ? "fr" : "none", suffix = post ? " M1" : " M2";
            both(
                    "residualNorm" + suffix,
                    s -> s.engine.residualNorm(
                            s.t("h"), s.t("z"), s.t(zr), s.t("out"), s.t("gain"), s.t("y"), s.t("r")),
                    post ? new String[] {"zr", "out", "y", "r"} : new String[] {"out", "y", "r"});
            both(
                    "residualNormBackward" + suffix,
                    s -> s.engine.residualNormBackward(
                            s.t("dy"),
                            s.t("z"),
                            s.t(zr),
                            s.t("out"),
                            s.t("gain"),
                            s.t("r"),
                            s.t("dh"),
                            s.t("dz"),
                            s.t("dgain")),
                    "dh",
                    "dz",
                    "dgain");
            both(
                    "activation" + suffix,
                    s -> s.engine.activation(s.t("f"), s.t(fr), s.t("s")),
                    post ? new String[] {"fr", "s"} : new String[] {"s"});
            both("activationBackward" + suffix, s -> s.engine.activationBackward(s.t("f"), s.t(fr), s.t("s")), "s");
            both("product", s -> s.engine.product(s.t("y"), s.t("wqkv"), s.t("qkv")), "qkv");
            fill("qkv"); // products of random numbers would make attention look at one key alone
            both("heads" + suffix, s -> s.engine.heads(s.t("qkv"), s.t("rqkv"), post), "qkv", "rqkv");
            both("attention" + suffix, s -> s.engine.attention(s.t("qkv"), s.t("o"), s.t("lse")), "o", "lse");
            both(
                    "attentionBackward" + suffix,
                    s -> s.engine.attentionBackward(s.t("qkv"), s.t("o"), s.t("lse"), s.t("dO"), s.t("dqkv")),
                    "dqkv");
            both(
                    "headsBackward" + suffix,
                    s -> s.engine.headsBackward(s.t("dqkv"), s.t("qkv"), s.t("rqkv"), post),
                    "dqkv");
        }
        both("productInput", s -> s.engine.productInput(s.t("dqkv"), s.t("wqkv"), s.t("dx")), "dx");
        both("productWeight", s -> s.engine.productWeight(s.t("dqkv"), s.t("y"), s.t("dwqkv")), "dwqkv");
        both("product wide", s -> s.engine.product(s.t("y"), s.t("wfc"), s.t("f")), "f");
        both("productWeight wide", s -> s.engine.productWeight(s.t("s"), s.t("y"), s.t("dwfc")), "dwfc");
        both(
                "head without gradient",
                s -> s.engine.head(s.t("y"), s.t("words"), s.t("losses"), 0, null, null),
                "losses");
        both(
                "head",
                s -> s.engine.head(s.t("y"), s.t("words"), s.t("losses"), 1.0 / d.N(), s.t("dx"), s.t("dwords")),
                "losses",
                "dx",
                "dwords");
        numbers("logits", s -> s.engine.logits(s.t("y"), d.N() - 1, s.t("words")));
        numbers("sum", s -> new double[] {s.engine.sum(s.t("losses"))});
        numbers("sum of activations", s -> new double[] {s.engine.sum(s.t("s"))});
    }

    private void optimizer() {
        String[] states = prefixed("m"), squares = prefixed("v"), masters = prefixed("w"), weights = prefixed("weight");
        double[] keep = {0.9, 1, 0.999, 1.1, 0.5, 1}, push = {0.1, 0.01, 1, 0.2, 0.3, 1};
        for (boolean nesterov : new boolean[] {false, true}) {
            both(
                    "momentum",
                    s -> s.engine.momentum(s.all(MATRICES), SCALES, 0.95, nesterov, s.all(states)),
                    concat(MATRICES, states));
        }
        numbers("readings", s -> s.engine.readings(s.all(masters), s.all(MATRICES)));
        both(
                "orthogonalize",
                s -> s.engine.orthogonalize(s.all(MATRICES), Polynomial.repeated(5, 3.4445, -4.7750, 2.0315)),
                MATRICES);
        both("move", s -> s.engine.move(s.all(masters), s.all(MATRICES), keep, push), masters);
        both("represent", s -> s.engine.represent(s.all(masters), SCALES, s.all(weights)), weights);
        for (long t = 1; t < 3; t++) {
            long step = t;
            Arrays.stream(MATRICES).forEach(this::fill);
            both(
                    "adam",
                    s -> s.engine.adam(s.all(MATRICES), SCALES, 0.9, 0.95, 1e-10, step, s.all(states), s.all(squares)),
                    concat(concat(MATRICES, states), squares));
        }
        both(
                "orthogonalize bf16",
                s -> s.engine.orthogonalize(
                        s.all(MATRICES),
                        Polynomial.repeated(5, 3.4445, -4.7750, 2.0315).inBf16()),
                MATRICES);
        both("zero", s -> s.engine.zero(s.all(MATRICES)), MATRICES);
    }

    private static String[] prefixed(String prefix) {
        return Arrays.stream(MATRICES).map(name -> prefix + name).toArray(String[]::new);
    }

    private static String[] concat(String[] a, String[] b) {
        String[] both = Arrays.copyOf(a, a.length + b.length);
        System.arraycopy(b, 0, both, a.length, b.length);
        return both;
    }

    private void both(String operation, Consumer<Side> run, String... outputs) {
        run.accept(mine);
        run.accept(oracle);
        for (String name : outputs) {
            double[] met = mine.engine.read(mine.t(name)), expected = oracle.engine.read(oracle.t(name));
            results.add(new Result(operation, name, error(met, expected)));
            align(name);
        }
    }

    private void numbers(String operation, java.util.function.Function<Side, double[]> run) {
        results.add(new Result(operation, "", error(run.apply(mine), run.apply(oracle))));
    }

    /** NaN where either is not a number. */
    static double error(double[] met, double[] expected) {
        double distance = 0, length = 0;
        for (int i = 0; i < expected.length; i++) {
            distance += (met[i] - expected[i]) * (met[i] - expected[i]);
            length += expected[i] * expected[i];
        }
        return distance == 0 ? 0 : Math.sqrt(distance / length);
    }
}
