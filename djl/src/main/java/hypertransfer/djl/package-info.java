/**
 * The paper's optimizers for Deep Java Library: the directions, readings and moves of a step on {@code NDArray}s. What a
 * step does with them is {@link hypertransfer.core}'s, and no formula of it is repeated here.
 */
package hypertransfer.djl;
