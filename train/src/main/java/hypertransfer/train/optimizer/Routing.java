package hypertransfer.train.optimizer;

import hypertransfer.core.Clip;
import hypertransfer.core.Limits;
import hypertransfer.core.Transfer;
import hypertransfer.train.network.Masters;
import hypertransfer.train.network.Parameter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;

/**
 * Which optimizer moves what: every hidden matrix has a direction and a transfer of its own, all else goes to AdamW.
 *
 * @param rule of a hidden matrix, by its name
 * @param rest the direction of all other parameters
 * @param restDecay their weight decay
 * @param representation how the network sees the hidden matrices
 * @param clip the most that gradients may be
 */
public record Routing(
        Function<String, Rule> rule, Direction.Adam rest, double restDecay, Representation representation, Clip clip) {

    public Routing {
        Limits.zeroOrMore("AdamW's weight decay", restDecay);
    }

    /** The paper's, with one direction and transfer for all hidden matrices. */
    public static Routing standard(Direction direction, Transfer transfer) {
        Rule rule = new Rule(direction, transfer);
        return new Routing(name -> rule, Direction.Adam.standard(), 0.1, Representation.PLAIN, Clip.NONE);
    }

    public Routing with(Clip other) {
        return new Routing(rule, rest, restDecay, representation, other);
    }

    /** The masters that these hidden matrices need. */
    public Masters masters(List<String> hidden) {
        if (representation.exact()) {
            return Masters.EXACT;
        }
        boolean elsewhere = hidden.stream()
                .anyMatch(name -> rule.apply(name).transfer().gradient().evaluatesElsewhere());
        return elsewhere || !representation.identity() ? Masters.SEPARATE : Masters.SHARED;
    }

    /** A line for each kind of parameter, for people; blocks that agree share one. */
    public String table(List<Parameter> parameters) {
        Map<String, Integer> lines = new LinkedHashMap<>();
        for (Parameter p : parameters) {
            String name = p.name().replaceFirst("^blocks\\.\\d+\\.", "blocks.*.");
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
        return p.hidden() ? rule.apply(p.name()).label() : rest.label() + ", decay " + restDecay;
    }
}
