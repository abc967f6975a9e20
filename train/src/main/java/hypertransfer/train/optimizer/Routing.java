package hypertransfer.train.optimizer;

import hypertransfer.core.Refusal;
import hypertransfer.core.Transfer;
import hypertransfer.train.network.Parameter;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;

/**
 * Which optimizer moves what: hidden matrices follow a direction and each its own transfer, all else goes to AdamW.
 *
 * @param direction of the hidden matrices
 * @param transfer of a hidden matrix, by its name
 * @param rest the direction of all other parameters
 * @param restDecay their weight decay
 */
public record Routing(Direction direction, Function<String, Transfer> transfer, Direction.Adam rest, double restDecay) {

    public Routing {
        if (!(restDecay >= 0 && restDecay < Double.POSITIVE_INFINITY)) {
            throw new Refusal("AdamW's weight decay is " + restDecay + "; it must be a finite number, zero or more");
        }
    }

    /** The paper's, with one transfer for all hidden matrices. */
    public static Routing standard(Direction direction, Transfer transfer) {
        return new Routing(direction, name -> transfer, Direction.Adam.standard(), 0.1);
    }

    /** A line a parameter, for people. */
    public String table(List<Parameter> parameters) {
        StringBuilder table = new StringBuilder("routing\n");
        for (Parameter p : parameters) {
            Transfer t = p.hidden() ? transfer.apply(p.name()) : null;
            String shape = "(" + p.master().rows() + "," + p.master().cols() + ")";
            String how = t == null
                    ? rest + " decay=" + restDecay
                    : direction + (t.isPlain() ? " in " + t.target() : " follows " + t.target() + " in " + t.carrier())
                            + ", gradient "
                            + t.gradient().name().toLowerCase(Locale.ROOT).replace('_', ' ');
            table.append(String.format(Locale.ROOT, "  %-28s %-14s %s%n", p.name(), shape, how));
        }
        return table.toString();
    }
}
