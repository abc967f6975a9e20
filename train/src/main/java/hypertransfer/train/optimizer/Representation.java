package hypertransfer.train.optimizer;

import hypertransfer.core.Limits;
import hypertransfer.core.Refusal;
import hypertransfer.engine.Format;

/**
 * How the hidden matrices that the optimizer moves are shown to the network.
 *
 * @param master the number format of their masters
 * @param grid the bits of mantissa that the network's weights keep; 0 for all they have
 * @param placebo a further factor that the network is evaluated at and the gradient multiplied with: on a
 *     scale-invariant matrix it changes nothing in exact arithmetic, and every rounding in practice
 */
public record Representation(Master master, int grid, double placebo) {
    /** The masters in the engine's own format, their weights as they are. */
    public static final Representation PLAIN = new Representation(Master.FLOAT32, 0, 1);

    public enum Master {
        /** Double precision where the engine keeps weights apart from masters anyway: there it is nearly free. */
        AUTO,
        FLOAT32,
        FLOAT64
    }

    /**
     * A float's start, a float's direction and rates with few decimals make masters that lie exactly halfway between two
     * weights: with a rate of 0.04 and a decay of 0.1, one in 125 masters is short after the first step. The last bit of such a
     * master, in which a follower and its target differ, would then decide the weight. A factor with all its bits, far
     * above the masters' error and far below a weight's, moves them away from the middle.
     */
    private static final double OFF_THE_MIDDLE = 1 + 0x1.3c6ef372fe94fp-31;

    public Representation {
        if (grid < 0 || grid > Format.FULL_GRID) {
            throw new Refusal("the grid of weights is " + grid + " bits of mantissa; it must be from 1 to "
                    + Format.FULL_GRID + ", or 0 for all that the format has");
        }
        Limits.aboveZero("the placebo's factor", placebo);
    }

    /** The same for an engine, with nothing left open. */
    public Representation on(boolean separateWeights) {
        return master == Master.AUTO
                ? new Representation(separateWeights ? Master.FLOAT64 : Master.FLOAT32, grid, placebo)
                : this;
    }

    public boolean exact() {
        return master == Master.FLOAT64;
    }

    /** The bits of mantissa, as engines take them. */
    public int bits() {
        return grid == 0 ? Format.FULL_GRID : grid;
    }

    /** What the masters are multiplied with, on top of the scale that a transfer evaluates at. */
    public double factor() {
        return exact() ? placebo * OFF_THE_MIDDLE : placebo;
    }

    boolean identity() {
        return bits() == Format.FULL_GRID && placebo == 1;
    }
}
