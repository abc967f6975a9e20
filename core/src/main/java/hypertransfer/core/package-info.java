/**
 * The algebra of HyperTransfer: scalar code in double precision that needs no tensor library.
 *
 * <p>A training loop measures a {@link hypertransfer.core.Reading} of each matrix, asks its {@link
 * hypertransfer.core.Transfer} for a {@link hypertransfer.core.Step}, moves the matrix by {@code w <- keep w - push u}, and
 * keeps the step's {@link hypertransfer.core.State} for the next. {@link hypertransfer.core.Mode} has the paper's algorithms by
 * name, {@link hypertransfer.core.Schedule} the rate of every step.
 *
 * <p>Units. A norm is a Frobenius norm, in units of the weights. A nominal rate of a Base space multiplies the direction; its
 * product with the weight decay is a pure number below 1. The rate of a Hyperball, the effective rate and the angular step are
 * the ratio of two norms, which for small steps is the angle in radians. Steps are counted from zero.
 *
 * <p>Everything here is immutable, and safe to use from any number of threads. No method takes or returns null unless it says so.
 * Input that cannot be used is a {@link hypertransfer.core.Refusal}; a training that ran away is a {@link
 * hypertransfer.core.Diverged}.
 */
package hypertransfer.core;
