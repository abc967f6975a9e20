package hypertransfer.train.network;

import hypertransfer.engine.Tensor;

/**
 * One tensor that is trained.
 *
 * @param hidden whether it is a matrix inside a block, and so goes to Muon
 * @param weight what the network is evaluated at
 * @param master what the optimizer moves; the weight itself where nothing separates them
 * @param gradient what the backward pass adds to
 */
public record Parameter(String name, boolean hidden, Tensor weight, Tensor master, Tensor gradient) {
    public boolean separate() {
        return weight != master;
    }
}
