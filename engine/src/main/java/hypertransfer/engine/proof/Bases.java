package hypertransfer.engine.proof;

import hypertransfer.engine.Role;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Gram matrices and the bases that turn towards their eigenvectors, against the reference engine. */
final class Bases {
    private Bases() {}

    /** What SOAP asks for, on matrices small enough for the reference's loops; one side of the last is left out. */
    static List<Result> run(Pair pair) {
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
            for (int k = 0; k < shapes.length; k++) {
                pair.set("right" + k, decaying(shapes[k][1]));
            }
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
