package hypertransfer.djl.file;

import ai.djl.ndarray.NDArray;
import hypertransfer.core.State;
import hypertransfer.core.Transfer;
import java.util.List;

/**
 * What is saved of a parameter.
 *
 * @param direction the signature of the direction that it was trained with
 * @param transfer its target, its carrier and its rule for the gradient
 * @param state what the algebra remembers of it
 * @param scale the multiple of the carrier that the weight stood at
 * @param memory the direction's arrays: the live ones on the way to a file, copies on the way back
 */
public record Saved(String direction, Transfer transfer, State state, double scale, List<NDArray> memory) {}
