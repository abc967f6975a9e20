package hypertransfer.train.optimizer;

import hypertransfer.core.Refusal;
import hypertransfer.engine.Engine;

/**
 * How the hidden matrices that the optimizer moves are shown to the network.
 *
 * @param exact whether their masters are kept in double precision
 * @param grid the bits of mantissa that the network's weights keep; {@link Engine#FULL_GRID} for all they have
 * @param placebo a factor that the network is evaluated at besides, and the gradient multiplied with: on a
 *     scale-invariant matrix it changes nothing in exact arithmetic, and every rounding in practice
 */
public record Representation(boolean exact, int grid, double placebo) {
    /** The masters in the engine's own format, their weights as they are. */
    public static final Representation PLAIN = new Representation(false, Engine.FULL_GRID, 1);

    public Representation {
        if (grid < 1 || grid > Engine.FULL_GRID) {
            throw new Refusal(
                    "the grid of weights is " + grid + " bits of mantissa; it must be from 1 to " + Engine.FULL_GRID);
        }
        if (!(placebo > 0 && placebo < Double.POSITIVE_INFINITY)) {
            throw new Refusal("the placebo's factor is " + placebo + "; it must be a finite number above zero");
        }
    }

    boolean identity() {
        return grid == Engine.FULL_GRID && placebo == 1;
    }
}
