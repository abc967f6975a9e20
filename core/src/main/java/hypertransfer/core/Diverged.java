package hypertransfer.core;

import java.util.Optional;

/**
 * The training ran away: a norm, a direction or a loss is no longer a finite number, or is beyond its limit. What was
 * saved before this step is still good.
 */
public final class Diverged extends Refusal {
    /** Or null. */
    private final String matrix;

    /** Counted from zero. */
    private final long step;

    /**
     * Divergence, noticed at a matrix or at the loss.
     *
     * @param matrix the matrix that shows it, or null where only the loss does
     * @param step the number of steps taken before the one that failed
     * @param message one sentence for the user, complete in itself
     */
    public Diverged(String matrix, long step, String message) {
        super(message);
        this.matrix = matrix;
        this.step = step;
    }

    /** {@return the matrix that shows it; empty where only the loss does} */
    public Optional<String> matrix() {
        return Optional.ofNullable(matrix);
    }

    /** {@return the number of steps taken before the one that failed, so that step's index from zero} */
    public long step() {
        return step;
    }
}
