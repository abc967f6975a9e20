package hypertransfer.train.optimizer;

import hypertransfer.train.network.Outline;
import java.util.List;
import java.util.stream.IntStream;

/**
 * What counts as a hidden matrix: a whole one, or one of the parts that a {@link View} makes of it.
 *
 * @param name {@code blocks.0.attn.q.weight}, or {@code blocks.0.attn.q#3.weight} of a part
 * @param part its number among the parts; -1 where it is whole
 */
public record Matrix(String name, Outline whole, int part, int rows, int cols, Rule rule) {
    /**
     * Those of these hidden matrices, in the order of all arrays.
     *
     * @param head the width of a head
     */
    public static List<Matrix> of(List<Outline> hidden, Routing routing, int head) {
        return hidden.stream()
                .flatMap(whole -> of(whole, routing, head).stream())
                .toList();
    }

    /** The parts of one of them, or itself. */
    static List<Matrix> of(Outline whole, Routing routing, int head) {
        Rule rule = routing.rule().apply(whole);
        View cut = rule.view().of(whole, head);
        int rows = whole.rows() / cut.down(), cols = whole.cols() / cut.across();
        return IntStream.range(0, cut.count())
                .map(k -> cut.count() == 1 ? -1 : k)
                .mapToObj(part -> new Matrix(name(whole.name(), part), whole, part, rows, cols, rule))
                .toList();
    }

    /** The name of the same matrix in another layer. */
    public String in(int layer) {
        return name(whole.kind().in(layer), part);
    }

    private static String name(String whole, int part) {
        return part < 0 ? whole : View.part(whole, part);
    }
}
