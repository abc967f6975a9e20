package hypertransfer.train.optimizer;

import hypertransfer.core.Limits;
import hypertransfer.core.Refusal;
import hypertransfer.engine.Format;

/**
 * How the hidden matrices that the optimizer moves are shown to the network.
 *
 * @param exact whether their masters are kept in double precision
 * @param grid the bits of mantissa that the network's weights keep; {@link Format#FULL_GRID} for all they have
 * @param placebo a further factor that the network is evaluated at and the gradient multiplied with: on a
 *     scale-invariant matrix it changes nothing in exact arithmetic, and every rounding in practice
 */
public record Representation(boolean exact, int grid, double placebo) {
    /** The masters in the engine's own format, their weights as they are. */
    public static final Representation PLAIN = new Representation(false, Format.FULL_GRID, 1);

    /**
     * A float's start, a float's direction and rates with few decimals make masters that lie exactly halfway between two
     * weights: with a rate of 0.04 and a decay of 0.1, one in 125 masters is short after the first step. The last bit of such a
     * master, in which a follower and its target differ, would then decide the weight. A factor with all its bits, far
     * above the masters' error and far below a weight's, moves them away from the middle.
     */
    private static final double OFF_THE_MIDDLE = 1 + 0x1.3c6ef372fe94fp-31;

    public Representation {
        if (grid < 1 || grid > Format.FULL_GRID) {
            throw new Refusal(
                    "the grid of weights is " + grid + " bits of mantissa; it must be from 1 to " + Format.FULL_GRID);
        }
        Limits.aboveZero("the placebo's factor", placebo);
    }

    /** What the masters are multiplied with, on top of the scale that a transfer evaluates at. */
    double factor() {
        return exact ? placebo * OFF_THE_MIDDLE : placebo;
    }

    boolean identity() {
        return grid == Format.FULL_GRID && placebo == 1;
    }
}
