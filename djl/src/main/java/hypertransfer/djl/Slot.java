package hypertransfer.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import hypertransfer.core.Refusal;
import hypertransfer.core.State;
import hypertransfer.core.Step;
import hypertransfer.core.Transfer;
import java.util.List;
import java.util.stream.IntStream;

/**
 * All that is remembered of one parameter on one device. Its arrays live with the weight: closing the model frees them,
 * and {@link #close} frees them before.
 */
final class Slot implements AutoCloseable {
    private final Rule rule;
    private final NDManager home;
    private final List<NDArray> memory;
    private NDArray weight;
    private State state;
    /** What the weight stands at, as a multiple of the carrier: other than 1 in the + forms alone. */
    private double scale;

    private Step last; // null before the first
    private long stepsHere;

    private Slot(Rule rule, NDManager home, NDArray weight, List<NDArray> memory, State state, double scale) {
        this.rule = rule;
        this.home = home;
        this.weight = weight;
        this.memory = memory;
        this.state = state;
        this.scale = scale;
    }

    static Slot start(Route route, NDArray weight) {
        check(route, weight);
        State state = State.start(route.name(), Measure.norm(weight));
        NDManager home = weight.getManager().newSubManager();
        List<NDArray> memory = IntStream.range(0, route.rule().direction().memory())
                .mapToObj(i -> home.zeros(weight.getShape(), weight.getDataType()))
                .toList();
        return new Slot(route.rule(), home, weight, memory, state, 1);
    }

    static Slot restore(Route route, NDArray weight, Saved saved) {
        check(route, weight);
        NDManager home = weight.getManager().newSubManager();
        List<NDArray> memory =
                saved.memory().stream().map(bytes -> decode(home, bytes)).toList();
        for (NDArray array : memory) {
            if (!array.getShape().equals(weight.getShape()) || array.getDataType() != weight.getDataType()) {
                home.close();
                throw new Refusal(route.name() + " is " + weight.getDataType() + " " + weight.getShape()
                        + ", but its saved state is " + array.getDataType() + " " + array.getShape()
                        + "; load the state of this model");
            }
        }
        return new Slot(route.rule(), home, weight, memory, saved.state(), saved.scale());
    }

    Saved save() {
        return new Saved(
                rule.toString(),
                state,
                scale,
                memory.stream().map(NDArray::encode).toList());
    }

    Step last() {
        return last;
    }

    /** The steps taken since the slot was opened. */
    long stepsHere() {
        return stepsHere;
    }

    void step(String parameterId, NDArray weight, NDArray gradient) {
        this.weight = weight;
        Transfer transfer = rule.transfer();
        double evaluated = transfer.evaluationScale(state);
        if (scale != evaluated) {
            throw new Refusal(state.matrix() + " at step " + state.step() + ": the gradient was taken at " + scale
                    + " times the carrier, and " + rule + " needs it at " + evaluated
                    + "; call toRepresentative() before going on with the training");
        }
        // Results of array operations belong to the manager of their first operand: all of them end with the scratch.
        try (NDManager scratch = weight.getManager().newSubManager()) {
            scratch.tempAttachAll(weight, gradient);
            memory.forEach(array -> array.tempAttach(scratch));
            stand(1);
            double factor = transfer.gradientScale(state);
            NDArray g = factor == 1 ? gradient : gradient.mul(factor);
            NDArray u = rule.direction().of(g, memory, state.step());
            last = transfer.step(state, Measure.reading(weight, u), rule.rate().at(parameterId, state.step()));
            weight.muli(last.keep()).subi(u.mul(last.push()));
            state = last.next();
            stepsHere++;
            stand(transfer.evaluationScale(state));
        }
    }

    void toCarrier() {
        stand(1);
    }

    void toRepresentative() {
        stand(rule.transfer().evaluationScale(state));
    }

    /** Puts the weight at this multiple of the carrier. */
    private void stand(double multiple) {
        if (scale != multiple) {
            // undone by the very number it was done with, so that the rounding of the number itself cancels
            if (scale != 1) {
                weight.divi(scale);
            }
            if (multiple != 1) {
                weight.muli(multiple);
            }
            scale = multiple;
        }
    }

    @Override
    public void close() {
        home.close();
    }

    /** DJL decodes into a buffer that the garbage collector frees: a copy is the engine's own memory. */
    private static NDArray decode(NDManager home, byte[] bytes) {
        try (NDArray buffer = home.decode(bytes)) {
            return buffer.duplicate();
        }
    }

    private static void check(Route route, NDArray weight) {
        DataType type = weight.getDataType();
        if (type != DataType.FLOAT32 && type != DataType.FLOAT64) {
            throw new Refusal(route.name() + " is of type " + type + "; train it in FLOAT32 or FLOAT64");
        }
        if (route.rule().direction() instanceof Direction.Muon
                && weight.getShape().dimension() != 2) {
            throw new Refusal(route.name() + " has shape " + weight.getShape()
                    + ", and Muon orthogonalises matrices; choose an Adam direction for it");
        }
    }
}
