package hypertransfer.train.optimizer;

import hypertransfer.core.Clip;
import hypertransfer.core.Limits;
import hypertransfer.core.Transfer;
import hypertransfer.train.network.Outline;
import hypertransfer.train.network.Parameter;
import hypertransfer.train.network.Parameters.Masters;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

/**
 * Which optimizer moves what: every hidden matrix has a direction and a transfer of its own, all else goes to AdamW.
 *
 * @param rule of each hidden matrix
 * @param rest the direction of all other parameters
 * @param restDecay their weight decay
 * @param share what their rate is multiplied by for one of them
 * @param representation how the network sees the hidden matrices
 * @param clip the most that gradients may be
 */
public record Routing(
        Function<Outline, Rule> rule,
        Direction.Adam rest,
        double restDecay,
        ToDoubleFunction<Outline> share,
        Representation representation,
        Clip clip) {
    public Routing {
        Limits.zeroOrMore("AdamW's weight decay", restDecay);
    }

    /** The paper's, with one direction and transfer for all hidden matrices. */
    public static Routing standard(Direction direction, Transfer transfer) {
        Rule rule = new Rule(direction, transfer);
        return new Routing(matrix -> rule, Direction.Adam.standard(), 0.1, other -> 1, Representation.PLAIN, Clip.NONE);
    }

    /** The masters that these hidden matrices need. */
    public Masters masters(List<Outline> hidden) {
        if (representation.exact()) {
            return Masters.EXACT;
        }
        boolean elsewhere = hidden.stream()
                .anyMatch(matrix -> rule.apply(matrix).transfer().gradient().evaluatesElsewhere());
        return elsewhere || !representation.identity() ? Masters.SEPARATE : Masters.SHARED;
    }

    /** A line for each kind of parameter, for people; blocks that agree share one. */
    public String table(List<Parameter> parameters) {
        Map<String, Integer> lines = new LinkedHashMap<>();
        for (Parameter p : parameters) {
            int layer = p.outline().layer();
            String name = layer < 0 ? p.name() : p.name().replace("blocks." + layer + ".", "blocks.*.");
            String shape = "(" + p.weight().rows() + "," + p.weight().cols() + ")";
            lines.merge(String.format(Locale.ROOT, "%-26s %-14s %%3d x  %s", name, shape, how(p)), 1, Integer::sum);
        }
        StringBuilder table = new StringBuilder("routing\n");
        lines.forEach((line, count) -> table.append("  ")
                .append(String.format(Locale.ROOT, line, count))
                .append('\n'));
        return table.toString();
    }

    private String how(Parameter p) {
        if (p.hidden()) {
            return rule.apply(p.outline()).label();
        }
        double part = share.applyAsDouble(p.outline());
        return rest.label() + ", decay " + restDecay
                + (part == 1 ? "" : String.format(Locale.ROOT, ", rate times %.4g", part));
    }
}
