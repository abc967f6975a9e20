package hypertransfer.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.Shape;
import java.util.List;

/** A direction that a test makes of a function. */
record Made(String signature, List<Shape> memory, Function made) implements Direction {
    interface Function {
        NDArray of(NDArray gradient, List<NDArray> memory, long step);
    }

    @Override
    public List<Shape> memory(Shape parameter) {
        return memory;
    }

    @Override
    public NDArray of(NDArray gradient, List<NDArray> memory, long step) {
        return made.of(gradient, memory, step);
    }
}
