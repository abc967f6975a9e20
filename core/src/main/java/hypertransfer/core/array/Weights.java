package hypertransfer.core.array;

import hypertransfer.core.Diverged;
import hypertransfer.core.Reading;
import hypertransfer.core.Refusal;
import hypertransfer.core.State;
import hypertransfer.core.Step;
import hypertransfer.core.Transfer;
import java.util.Arrays;
import java.util.Objects;

/**
 * One matrix of a training loop on plain arrays, with everything of a step in its right order. Take the gradient at
 * {@link #evaluated}, hand it to {@link #step}, once each in turn:
 *
 * {@snippet file="hypertransfer/examples/OwnLoop.java" region="loop"}
 *
 * <p>To save it, save {@link #values}, {@link #state} and the direction's memory. Not for several threads at once.
 */
public final class Weights {
    /** How far a saved norm may be from the values', which may have been saved with fewer digits. */
    private static final double NEAR = 1e-3;

    private final double[] values;
    private final Transfer transfer;
    private final Direction direction;
    private State state;
    private boolean evaluated;

    /** What a gradient is turned into before the matrix moves against it. */
    @FunctionalInterface
    public interface Direction {
        /**
         * The direction of one step.
         *
         * @param gradient the gradient, already scaled as the transfer asks
         * @param step the number of steps taken so far, so 0 at the first
         * @return an array of the gradient's length
         */
        double[] of(double[] gradient, long step);
    }

    /**
     * A matrix before its first step.
     *
     * @param name for errors and logs
     * @param values the matrix, row by row, which this object moves; not zero, except for the plain Base optimizer
     * @param transfer the space it lives in, and the one it follows
     * @param direction {@link Muon#on}, or one of your own
     */
    public Weights(String name, double[] values, Transfer transfer, Direction direction) {
        this(State.start(name, Reading.of(values, values).w()), values, transfer, direction);
    }

    /**
     * A matrix that continues.
     *
     * @param state what {@link #state} was
     * @param values what {@link #values} were
     * @param transfer as before
     * @param direction as before, with its memory
     * @throws Refusal if the values are not of the state's norm
     */
    public Weights(State state, double[] values, Transfer transfer, Direction direction) {
        double norm = Reading.of(values, values).w();
        if (!(Math.abs(norm - state.norm()) <= NEAR * norm)) {
            throw new Refusal(state.matrix() + " at step " + state.step() + ": the state belongs to a matrix of norm "
                    + state.norm() + ", but the values have norm " + norm + "; restore both from the same checkpoint");
        }
        this.state = state;
        this.values = values;
        this.transfer = Objects.requireNonNull(transfer, "transfer");
        this.direction = Objects.requireNonNull(direction, "direction");
    }

    /** {@return the matrix itself, the carrier's} */
    public double[] values() {
        return values;
    }

    /** {@return what the algebra remembers of the matrix} */
    public State state() {
        return state;
    }

    /**
     * Where to evaluate the network, and take the gradient of the next step.
     *
     * @return the matrix itself, or a multiple of it where the mode asks for one, as the + forms do
     */
    public double[] evaluated() {
        evaluated = true;
        double at = transfer.evaluationScale(state);
        return at == 1 ? values : scaled(at, values);
    }

    /**
     * Takes one step.
     *
     * @param gradient of the loss at {@link #evaluated}
     * @param rate the target's scheduled rate at this step
     * @return what was done: rates, norms, angle
     * @throws Refusal if {@link #evaluated} was not asked since the step before, if the gradient has another length, and as
     *     {@link Transfer#step(State, Reading, double)} does
     */
    public Step step(double[] gradient, double rate) {
        if (!evaluated) {
            throw new Refusal(
                    state.matrix() + " at step " + state.step()
                            + ": evaluated() was not called before step(); take the gradient at what it returns, then call step()");
        }
        if (gradient.length != values.length) {
            throw new Refusal(state.matrix() + " at step " + state.step() + ": the gradient has " + gradient.length
                    + " numbers, and the matrix " + values.length + "; give one for each, row by row");
        }
        // before the direction changes its memory
        transfer.check(state, rate);
        if (!Arrays.stream(gradient).allMatch(Double::isFinite)) {
            throw new Diverged(
                    state.matrix(),
                    state.step(),
                    state.matrix() + " at step " + state.step()
                            + ": the gradient has a number that is not finite, and nothing has changed; lower the learning rate");
        }
        double[] u = direction.of(scaled(transfer.gradientScale(state), gradient), state.step());
        Step step = transfer.step(state, Reading.of(values, u), rate);
        for (int i = 0; i < values.length; i++) {
            values[i] = step.keep() * values[i] - step.push() * u[i];
        }
        state = step.next();
        evaluated = false;
        return step;
    }

    private static double[] scaled(double factor, double[] values) {
        return Arrays.stream(values).map(value -> factor * value).toArray();
    }
}
