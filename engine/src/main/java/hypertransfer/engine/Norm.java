package hypertransfer.engine;

/**
 * A norm of the stream, with what it learns and what it keeps.
 *
 * @param gain (1,C)
 * @param dgain what the backward pass adds the gain's gradient to, (1,C)
 * @param r each row's factor, from the forward pass to the backward pass, (N,1)
 * @param center whether each row's mean is taken away first, which makes it a LayerNorm
 */
public record Norm(Tensor gain, Tensor dgain, Tensor r, boolean center) {}
