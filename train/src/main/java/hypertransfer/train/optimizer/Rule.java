package hypertransfer.train.optimizer;

import hypertransfer.core.Limits;
import hypertransfer.core.Refusal;
import hypertransfer.core.Space;
import hypertransfer.core.State;
import hypertransfer.core.Transfer;
import hypertransfer.train.Word;

/**
 * How one hidden matrix is moved.
 *
 * @param radius of the Hyperball that it lives in or follows, as a multiple of its norm at the start
 * @param zeroRadius the same as a length, for a matrix that starts at zero; 0 where none may
 * @param view the parts of it that count as matrices
 * @param proxyRate what a trained proxy norm has for a rate beside the matrix's; 0 where the norm follows the recursion
 */
public record Rule(
        Direction direction, Transfer transfer, double radius, double zeroRadius, View view, double proxyRate) {
    /** Refuses a radius that is no length, and one where there is no Hyperball. */
    public Rule {
        Limits.aboveZero("the radius", radius);
        Limits.zeroOrMore("zero_radius", zeroRadius);
        if (radius != 1 && !ball(transfer.carrier()) && !ball(transfer.target())) {
            throw new Refusal("the radius is " + radius + ", and " + transfer.target() + " in " + transfer.carrier()
                    + " has no Hyperball; leave it at 1, or take another mode");
        }
    }

    /** On a Hyperball whose radius is the matrix's norm at the start. */
    public Rule(Direction direction, Transfer transfer) {
        this(direction, transfer, 1, 0, View.WHOLE, 0);
    }

    /** What the matrix is multiplied by before the first step: a carrier that is a Hyperball has that radius. */
    double startScale() {
        return ball(transfer.carrier()) ? radius : 1;
    }

    /**
     * The state before the first step.
     *
     * @param norm the matrix's norm before it was multiplied by {@link #startScale}
     */
    State start(String matrix, double norm) {
        if (norm == 0 && zeroRadius > 0) {
            return State.zero(matrix, zeroRadius);
        }
        double target = ball(transfer.target()) ? radius * norm : norm;
        // A Base carrier has no radius of its own: at its target's it hands the network the same matrix, to the last
        // bit.
        double R = ball(transfer.carrier()) ? radius * norm : target;
        return new State(matrix, 0, R, startScale() * norm, target);
    }

    private static boolean ball(Space space) {
        return space instanceof Space.Hyperball;
    }

    String label() {
        String at = (radius == 1 ? "" : ", radius " + radius) + (view.equals(View.WHOLE) ? "" : ", " + view.text());
        String how = transfer.isPlain()
                ? ""
                : " followed in " + transfer.carrier() + ", gradient "
                        + Word.of(transfer.gradient()).replace('-', ' ');
        return transfer.target() + how + at + ", " + direction.label(); // a narrow terminal cuts the end off
    }
}
