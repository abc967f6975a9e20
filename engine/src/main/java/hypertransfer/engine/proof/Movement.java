package hypertransfer.engine.proof;

import hypertransfer.engine.Format;
import hypertransfer.engine.Motion.Iteration;
import hypertransfer.engine.Motion.Moments;
import hypertransfer.engine.Role;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The operations of the optimizer, against the reference engine. */
final class Movement {
    static final Iteration MUON = Iteration.repeated(5, 3.4445, -4.7750, 2.0315);

    private final Pair pair;
    private final List<String> g, m, v, w, weights, exact;
    private final List<String> rows = new ArrayList<>(); // one number per row of g
    private final Map<String, List<String>> blocks = new LinkedHashMap<>(); // of a whole
    private final double[] scale, keep, push;

    private Movement(Pair pair, int[][] shapes) {
        this.pair = pair;
        g = declare(Role.HIDDEN_GRADIENT, "g", shapes);
        m = declare(Role.STATE, "m", shapes);
        v = declare(Role.STATE, "v", shapes);
        w = declare(Role.MASTER, "w", shapes);
        weights = declare(Role.WEIGHT, "weight", shapes);
        exact = declare(Role.EXACT_MASTER, "exact", shapes);
        for (Role role : List.of(Role.HIDDEN_GRADIENT, Role.EXACT_MASTER, Role.WEIGHT)) {
            List<String> parts = new ArrayList<>();
            for (int k = 0; k < 6; k++) {
                parts.add("block." + role + k);
                pair.tensor(role, parts.getLast(), 3, 5);
            }
            pair.tensor(role, "blocks." + role, 6, 15);
            blocks.put("blocks." + role, parts);
        }
        for (String name : g) {
            rows.add(name.replaceFirst("g", "rows"));
            pair.tensor(Role.STATE, rows.getLast(), pair.rows(name), 1);
        }
        scale = factors(shapes, 0.7);
        keep = factors(shapes, 0.9);
        push = factors(shapes, 0.2);
        pair.commit();
    }

    /** On matrices of these shapes, a slice of one and one of zeros. */
    static List<Result> run(Pair pair, int[][] shapes) {
        try (pair) {
            Movement movement = new Movement(pair, shapes);
            movement.momentum();
            movement.masters();
            movement.orthogonalize(shapes);
            movement.adam();
            movement.signs();
            movement.equalize();
            movement.blocks();
            movement.shortened();
            return pair.results();
        }
    }

    private void momentum() {
        for (boolean nesterov : new boolean[] {false, true}) {
            pair.fill("g.zero", 0)
                    .fill("m.zero", 0)
                    .run("momentum", s -> s.motion().momentum(s.all(g), scale, 0.95, nesterov, s.all(m)))
                    .same(1, g)
                    .same(1, m);
        }
    }

    private void masters() {
        pair.numbers("readings", 1, s -> s.motion().readings(s.all(w), s.all(g)))
                .run("move", s -> s.motion().move(s.all(w), s.all(g), keep, push))
                .same(1, w)
                .run("represent", s -> s.motion().represent(s.all(w), scale, Format.FULL_GRID, s.all(weights)))
                .same(1, weights);
        pair.numbers("readings of exact masters", 1, s -> s.motion().readings(s.all(exact), s.all(g)))
                .numbers(
                        "readings of exact masters with themselves",
                        1,
                        s -> s.motion().readings(s.all(exact), s.all(exact)))
                .run("move of exact masters", s -> s.motion().move(s.all(exact), s.all(g), keep, push))
                .same(1, exact);
        for (int grid : new int[] {Format.FULL_GRID, 16}) {
            pair.run("represent exact masters", s -> s.motion().represent(s.all(exact), scale, grid, s.all(weights)))
                    .same(1, weights);
        }
    }

    /** Five steps amplify the rounding of the least singular values, 3.4 times each. */
    private void orthogonalize(int[][] shapes) {
        int longest = Arrays.stream(shapes).flatMapToInt(Arrays::stream).max().orElseThrow();
        pair.run("orthogonalize", s -> s.motion().orthogonalize(s.all(g), MUON)).same(64.0 * longest, g);
    }

    private void adam() {
        absolute(v);
        for (long t = 1; t < 4; t++) {
            Moments moments = new Moments(0.9, 0.95, 1e-10, t);
            g.forEach(name -> pair.fill(name, 1));
            pair.run("adam", s -> s.motion().adam(s.all(g), scale, moments, s.all(m), s.all(v)))
                    .same(4, g)
                    .same(4, m)
                    .same(4, v);
        }
    }

    /** Moments are never below zero. */
    private void absolute(List<String> moments) {
        moments.forEach(name ->
                pair.set(name, Arrays.stream(pair.read(name)).map(Math::abs).toArray()));
    }

    private void signs() {
        for (boolean first : new boolean[] {true, false}) {
            g.forEach(name -> pair.fill(name, 1));
            pair.fill("g.zero", 0)
                    .fill("m.zero", 0)
                    .run("sign", s -> s.motion().sign(s.all(g), scale, first ? 0 : 0.9, first ? 0 : 0.99, s.all(m)))
                    .same(1, g)
                    .same(1, m);
        }
        g.forEach(name -> pair.fill(name, 1));
        pair.run("clamp", s -> s.motion().clamp(s.all(g), scale, 0.3)).same(1, g);
    }

    private void equalize() {
        for (List<String> means : List.of(v, rows)) {
            absolute(means);
            for (double[] norm : new double[][] {null, keep}) {
                g.forEach(name -> pair.fill(name, 1));
                pair.fill("g.zero", 0)
                        .run("equalize", s -> s.motion().equalize(s.all(g), 0.9, 1e-10, norm, s.all(means)))
                        .same(4, g)
                        .same(4, means);
            }
        }
    }

    private void blocks() {
        blocks.forEach((whole, parts) -> pair.run("cut", s -> s.motion().cut(s.t(whole), s.all(parts), false))
                .same(1, parts)
                .fill(parts.getLast(), 1)
                .run("cut", s -> s.motion().cut(s.t(whole), s.all(parts), true))
                .same(1, whole));
    }

    private void shortened() {
        pair.run("orthogonalize in bf16", s -> s.motion().orthogonalize(s.all(g), MUON.inBf16()))
                .same(1, g)
                .run("zero", s -> s.engine().zero(s.all(g)))
                .same(1, g)
                .same(1, "g.whole"); // of which only a part is zero now
    }

    /** The first is a slice of a larger matrix, as a network's queries, keys and values are. */
    private List<String> declare(Role role, String name, int[][] shapes) {
        int rows = shapes[0][0], cols = shapes[0][1];
        pair.tensor(role, name + ".whole", 3 * rows, cols)
                .slice(name + ".whole", name + ".slice", rows, rows)
                .tensor(role, name + ".zero", rows, cols);
        List<String> names = new ArrayList<>(List.of(name + ".slice", name + ".zero"));
        for (int[] shape : shapes) {
            names.add(name + "." + shape[0] + "x" + shape[1]);
            pair.tensor(role, names.getLast(), shape[0], shape[1]);
        }
        return names;
    }

    private static double[] factors(int[][] shapes, double from) {
        double[] factors = new double[shapes.length + 2];
        Arrays.setAll(factors, i -> from + 0.01 * i);
        return factors;
    }

    /** Gram matrices and the bases that turn towards their eigenvectors, on matrices small enough for the reference's loops; one side of the last is left out. */
    static List<Result> bases(Pair pair) {
        int side = Math.min(pair.dims().C(), 40);
        int[][] shapes = {{side, side}, {1, side}, {3 * side + 1, side}, {(side + 1) / 2, 2 * side}};
        try (pair) {
            List<String> g = new ArrayList<>(), left = new ArrayList<>(), right = new ArrayList<>();
            List<String> basis = new ArrayList<>();
            for (int k = 0; k < shapes.length; k++) {
                int rows = k == shapes.length - 1 ? 1 : shapes[k][0], cols = shapes[k][1];
                g.add("g" + k);
                left.add("left" + k);
                right.add("right" + k);
                basis.add("basis" + k);
                pair.tensor(Role.HIDDEN_GRADIENT, "g" + k, shapes[k][0], cols)
                        .tensor(Role.STATE, "left" + k, rows, rows)
                        .tensor(Role.STATE, "right" + k, cols, cols)
                        .tensor(Role.STATE, "basis" + k, cols, cols);
            }
            pair.commit();
            for (List<String> grams : List.of(left, right)) {
                grams.forEach(name -> pair.set(name, decaying(pair.rows(name))));
            }
            double[] scale = {0.3, 0.31, 0.32, 0.33};
            pair.run("gram", s -> s.motion().gram(s.all(g), scale, 0.9, s.all(left), s.all(right)))
                    .same(3 * side, left)
                    .same(3 * side, right);
            for (boolean back : new boolean[] {false, true}) {
                pair.run("rotate", s -> s.motion().rotate(s.all(g), s.all(left), s.all(right), back))
                        .same(9 * side * side, g);
            }
            right.forEach(name -> pair.set(name, decaying(pair.rows(name))));
            return pair.numbers("refine", 1e4 * side, s -> {
                        s.motion().refine(s.all(right), scale, s.all(basis));
                        return s.all(basis).stream()
                                .flatMapToDouble(
                                        b -> Arrays.stream(signed(s.engine().read(b), b.cols())))
                                .toArray();
                    })
                    .results();
        }
    }

    /** A symmetric matrix with eigenvalues far from zero. */
    private static double[] decaying(int n) {
        double[] values = new double[n * n];
        Arrays.setAll(values, i -> Math.exp(-Math.abs(i / n - i % n)) * (i / n == i % n ? 2 + i % 3 : 1));
        return values;
    }

    /** The rows of a basis with signs that depend on the rows only. */
    private static double[] signed(double[] rows, int n) {
        for (int i = 0; i < rows.length; i += n) {
            double sum = 0;
            for (int j = 0; j < n; j++) {
                sum += rows[i + j] * Math.sin(1 + j);
            }
            for (int j = 0; j < n && sum < 0; j++) {
                rows[i + j] = -rows[i + j];
            }
        }
        return rows;
    }
}
