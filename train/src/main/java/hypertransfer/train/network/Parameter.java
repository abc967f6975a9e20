package hypertransfer.train.network;

import hypertransfer.engine.Tensor;

/**
 * One tensor that is trained, or the rows of it that a rank owns.
 *
 * @param outline of the whole tensor
 * @param weight what the network is evaluated at
 * @param master what the optimizer moves; the weight itself where nothing separates them, none where another
 *     rank owns it
 * @param gradient what the backward pass adds to; of what a rank owns, the sum over the step's micro-batches
 */
public record Parameter(Outline outline, Tensor weight, Tensor master, Tensor gradient) {
    public String name() {
        return outline.name();
    }

    public boolean hidden() {
        return outline.hidden();
    }

    public boolean separate() {
        return weight != master;
    }
}
