package hypertransfer.djl;

import ai.djl.ndarray.NDArray;
import hypertransfer.core.State;
import hypertransfer.core.Transfer;
import java.util.List;

/**
 * What is saved of a parameter.
 *
 * @param direction the {@link Direction#signature} it was trained with
 * @param scale the multiple of the carrier that the weight stood at
 * @param memory the direction's arrays: the live ones on the way to a file, copies on the way back
 */
record Saved(String direction, Transfer transfer, State state, double scale, List<NDArray> memory) {}
