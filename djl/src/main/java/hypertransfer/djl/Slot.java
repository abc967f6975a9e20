package hypertransfer.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import hypertransfer.core.Diverged;
import hypertransfer.core.Reading;
import hypertransfer.core.Refusal;
import hypertransfer.core.State;
import hypertransfer.core.Step;
import hypertransfer.core.Transfer;
import hypertransfer.djl.Checkpoint.Saved;
import java.util.List;

/**
 * All that is remembered of one parameter on one device. Its arrays live with the weight: closing the model frees them,
 * and {@link #close} frees them before.
 */
final class Slot implements AutoCloseable {
    private final Rule rule;
    private final int part;
    private final NDManager home;
    private final List<NDArray> memory;
    private NDArray weight;
    private State state;
    /** What the weight stands at, as a multiple of the carrier: differs from 1 only where the gradient is taken elsewhere. */
    private double scale;

    private Step last; // null before the first
    private long stepsHere;

    private Slot(Rule rule, int part, NDManager home, NDArray weight, List<NDArray> memory, State state, double scale) {
        this.rule = rule;
        this.part = part;
        this.home = home;
        this.weight = weight;
        this.memory = memory;
        this.state = state;
        this.scale = scale;
    }

    static Slot start(Route route, String name, int part, NDArray weight) {
        check(route, weight);
        View view = route.rule().view();
        NDManager home = weight.getManager().newSubManager();
        NDArray own = view.take(weight, part);
        double norm = Measure.norm(own), radius = route.rule().zeroRadius();
        if (!view.plain()) {
            own.close();
        }
        State state = norm == 0 && radius > 0 ? State.zero(name, radius) : State.start(name, norm);
        List<NDArray> memory = route.rule().direction().memory(view.shape(weight.getShape())).stream()
                .map(shape -> home.zeros(shape, weight.getDataType()))
                .toList();
        return new Slot(route.rule(), part, home, weight, memory, state, 1);
    }

    /** Refuses the state of a parameter of another shape. */
    static void fits(Route route, Saved saved) {
        List<Shape> shapes = route.rule().direction().memory(route.rule().view().shape(route.shape()));
        List<Shape> found = saved.memory().stream().map(NDArray::getShape).toList();
        if (!found.equals(shapes)) {
            throw new Refusal(route.name() + " is " + route.shape() + " and needs " + shapes
                    + ", but its saved state is " + found + "; load the state of this model");
        }
    }

    static Slot restore(Route route, int part, NDArray weight, Saved saved) {
        check(route, weight);
        if (saved.memory().stream().anyMatch(array -> array.getDataType() != weight.getDataType())) {
            throw new Refusal(route.name() + " is " + weight.getDataType() + ", but its saved state is "
                    + saved.memory().getFirst().getDataType() + "; load the state of this model");
        }
        NDManager home = weight.getManager().newSubManager();
        List<NDArray> memory = saved.memory().stream()
                .map(array -> {
                    NDArray copy = array.toDevice(weight.getDevice(), true);
                    copy.attach(home);
                    return copy;
                })
                .toList();
        return new Slot(route.rule(), part, home, weight, memory, saved.state(), saved.scale());
    }

    Saved save() {
        if (scale != rule.transfer().evaluationScale(state)) {
            throw new Refusal(state.matrix() + " stands at the carrier, where training cannot continue; call"
                    + " toRepresentative() before you save the optimizer and the model");
        }
        return new Saved(rule.signature(), rule.transfer(), state, scale, memory);
    }

    Step last() {
        return last;
    }

    /** The steps taken since the slot was opened. */
    long stepsHere() {
        return stepsHere;
    }

    /** What the transfer multiplies the next gradient by. */
    double gradientScale() {
        return rule.transfer().gradientScale(state);
    }

    void step(String parameterId, NDArray whole, NDArray wholeGradient, Clipping clipping) {
        this.weight = whole;
        Transfer transfer = rule.transfer();
        double evaluated = transfer.evaluationScale(state);
        if (scale != evaluated) {
            throw new Refusal(state.matrix() + " at step " + state.step() + ": the gradient was taken at " + scale
                    + " times the carrier, and " + rule + " needs it at " + evaluated
                    + "; call toRepresentative() before training continues");
        }
        double rate = rule.rate().at(parameterId, state.step());
        transfer.check(state, rate); // before any memory or weight changes
        // Results of array operations belong to the manager of their first operand: all of them end with the scratch.
        try (NDManager scratch = whole.getManager().newSubManager()) {
            scratch.tempAttachAll(whole, wholeGradient);
            memory.forEach(array -> array.tempAttach(scratch));
            NDArray own = rule.view().take(whole, part), gradient = rule.view().take(wholeGradient, part);
            if (!Double.isFinite(Measure.norm(gradient))) { // before any memory takes it in
                throw new Diverged(
                        state.matrix(),
                        state.step(),
                        state.matrix() + " at step " + state.step()
                                + ": its gradient is not finite; the matrix and its"
                                + " direction's state are unchanged: leave the step out, or lower the rate");
            }
            stand(own, 1);
            NDArray g = clipping.of(gradient, gradientScale());
            NDArray u = rule.direction().of(g, memory, state.step());
            if (!u.getShape().equals(own.getShape())) { // a smaller one would be broadcast, silently
                throw new Refusal(state.matrix() + " has shape " + own.getShape() + ", and its direction "
                        + rule.direction().signature() + " made one of shape " + u.getShape()
                        + "; a direction has the shape of its gradient");
            }
            Reading reading = new Reading(Measure.norm(own), Measure.norm(u), Measure.dot(u, own));
            last = transfer.step(state, reading, rate);
            // not keep times w: 1 - keep is small, and as a float it has digits that keep itself has not
            NDArray lost = own.mul(1 - last.keep());
            own.subi(lost.addi(u.mul(last.push())));
            state = last.next();
            stepsHere++;
            stand(own, transfer.evaluationScale(state));
            rule.view().put(whole, part, own);
        }
    }

    void toCarrier() {
        stand(1);
    }

    void toRepresentative() {
        stand(rule.transfer().evaluationScale(state));
    }

    private void stand(double multiple) {
        try (NDManager scratch = weight.getManager().newSubManager()) {
            weight.tempAttach(scratch);
            NDArray own = rule.view().take(weight, part);
            stand(own, multiple);
            rule.view().put(weight, part, own);
        }
    }

    /** Puts the part at this multiple of the carrier. */
    private void stand(NDArray own, double multiple) {
        if (scale != multiple) {
            // undone by the very number it was done with, so that the rounding of the number itself cancels
            if (scale != 1) {
                own.divi(scale);
            }
            if (multiple != 1) {
                own.muli(multiple);
            }
            scale = multiple;
        }
    }

    @Override
    public void close() {
        home.close();
    }

    private static void check(Route route, NDArray weight) {
        DataType type = weight.getDataType();
        if (type != DataType.FLOAT32 && type != DataType.FLOAT64) {
            throw new Refusal(route.name() + " is of type " + type + "; train it in FLOAT32 or FLOAT64");
        }
        route.rule().direction().check(route.name(), route.rule().view().shape(weight.getShape()));
    }
}
