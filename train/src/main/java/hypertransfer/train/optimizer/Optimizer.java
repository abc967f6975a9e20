package hypertransfer.train.optimizer;

import hypertransfer.core.Reading;
import hypertransfer.core.Refusal;
import hypertransfer.core.State;
import hypertransfer.core.Step;
import hypertransfer.core.Transfer;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.train.network.Parameter;
import hypertransfer.train.network.Parameters;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Moves all parameters of a network: directions, readings, the algebra, moves. */
public final class Optimizer {
    private final Engine engine;
    private final Routing routing;
    private final List<Parameter> hidden;
    private final List<Tensor> w; // the hidden masters
    private final List<Tensor> u; // their gradients, which become directions
    private final List<Tensor> restW;
    private final List<Tensor> restU;
    private final Apart hiddenApart;
    private final Apart restApart;
    private final List<Transfer> transfers;
    private final List<List<Tensor>> hiddenState;
    private final List<List<Tensor>> restState;
    private final Map<String, Tensor> tensors = new LinkedHashMap<>();
    private List<State> states;
    private long steps;

    /** Declares the optimizer's state; after the engine's commit and the weights are written, {@link #start} it. */
    public Optimizer(Engine engine, Parameters parameters, Routing routing) {
        this.engine = engine;
        this.routing = routing;
        hidden = parameters.hidden();
        w = hidden.stream().map(Parameter::master).toList();
        u = hidden.stream().map(Parameter::gradient).toList();
        List<Parameter> rest = parameters.rest();
        restW = rest.stream().map(Parameter::master).toList();
        restU = rest.stream().map(Parameter::gradient).toList();
        hiddenApart = Apart.of(hidden);
        restApart = Apart.of(rest);
        transfers = hidden.stream().map(p -> routing.transfer().apply(p.name())).toList();
        hiddenState = declare(routing.direction(), hidden);
        restState = declare(routing.rest(), rest);
    }

    /** The weights are as they shall start: measures their norms and represents them. */
    public void start() {
        double[] readings = engine.readings(w, w);
        List<State> start = new ArrayList<>();
        for (int k = 0; k < hidden.size(); k++) {
            start.add(State.start(hidden.get(k).name(), readings[3 * k]));
        }
        restore(start, 0);
    }

    /** Goes on from a saved state; {@link #tensors} and the masters must have been written. */
    public void restore(List<State> states, long steps) {
        List<String> names = states.stream().map(State::matrix).toList();
        List<String> own = hidden.stream().map(Parameter::name).toList();
        if (!names.equals(own)) {
            throw new Refusal("the saved state is of matrices " + names + ", the network has " + own);
        }
        this.states = List.copyOf(states);
        this.steps = steps;
        represent();
    }

    /** What the algebra remembers, a state for each hidden matrix. */
    public List<State> states() {
        return states;
    }

    public long steps() {
        return steps;
    }

    /** What the directions remember, by the name it has in files. */
    public Map<String, Tensor> tensors() {
        return Map.copyOf(tensors);
    }

    /**
     * Sets the target's norms to a multiple of the radius, before the gradient is taken: a proxy norm that follows a
     * schedule of its own instead of the recursion.
     */
    public void prescribe(double factor) {
        states = states.stream().map(s -> s.withTargetNorm(factor * s.R())).toList();
        represent();
    }

    /**
     * One step with the gradients that stand ready; they hold the directions afterwards.
     *
     * @param rates the target's rate for each hidden matrix
     * @param restRate the rate of all else
     * @return what happened to each hidden matrix
     */
    public List<Step> step(double[] rates, double restRate) {
        if (!(restRate >= 0 && restRate * routing.restDecay() < 1)) {
            throw new Refusal("AdamW's rate is " + restRate + " with weight decay " + routing.restDecay()
                    + "; it must be zero or more, and their product below 1");
        }
        double[] scale = new double[hidden.size()];
        double placebo = routing.representation().placebo();
        Arrays.setAll(scale, k -> placebo * transfers.get(k).gradientScale(states.get(k)));
        routing.direction().apply(engine, u, scale, steps, hiddenState);
        double[] readings = engine.readings(w, u);

        List<Step> taken = new ArrayList<>();
        double[] keep = new double[hidden.size()], push = new double[hidden.size()];
        for (int k = 0; k < hidden.size(); k++) {
            double factor = factor(hidden.get(k));
            Reading reading = new Reading(readings[3 * k], factor * readings[3 * k + 1], factor * readings[3 * k + 2]);
            Step step = transfers.get(k).step(states.get(k), reading, rates[k]);
            keep[k] = step.keep();
            push[k] = step.push() * factor;
            taken.add(step);
        }
        engine.move(w, u, keep, push);

        routing.rest().apply(engine, restU, filled(restU, 1), steps, restState);
        double restKeep = 1 - restRate * routing.restDecay();
        engine.move(restW, restU, filled(restU, restKeep), filled(restU, restRate));

        states = taken.stream().map(Step::next).toList();
        steps++;
        represent();
        return taken;
    }

    /** The same rate for all hidden matrices. */
    public List<Step> step(double rate, double restRate) {
        return step(filled(w, rate), restRate);
    }

    /** Writes the weights that the network is evaluated at, where they are not the masters themselves. */
    private void represent() {
        Representation how = routing.representation();
        if (!hiddenApart.masters.isEmpty()) { // all of them then, in the order of the states
            double[] scale = new double[hidden.size()];
            Arrays.setAll(scale, k -> how.placebo() * transfers.get(k).evaluationScale(states.get(k)));
            engine.represent(hiddenApart.masters, scale, how.grid(), hiddenApart.weights);
        }
        engine.represent(restApart.masters, filled(restApart.masters, 1), Engine.FULL_GRID, restApart.weights);
    }

    /** The parameters whose weights are not their masters. */
    private record Apart(List<Tensor> masters, List<Tensor> weights) {
        static Apart of(List<Parameter> parameters) {
            List<Parameter> apart =
                    parameters.stream().filter(Parameter::separate).toList();
            return new Apart(
                    apart.stream().map(Parameter::master).toList(),
                    apart.stream().map(Parameter::weight).toList());
        }
    }

    private List<List<Tensor>> declare(Direction direction, List<Parameter> parameters) {
        List<List<Tensor>> all = new ArrayList<>();
        for (String memory : direction.memory()) {
            List<Tensor> declared = new ArrayList<>();
            for (Parameter p : parameters) {
                String name = memory + ":" + p.name();
                Tensor tensor = engine.tensor(
                        Role.STATE, name, p.master().rows(), p.master().cols());
                declared.add(tensor);
                tensors.put(name, tensor);
            }
            all.add(declared);
        }
        return all;
    }

    private double factor(Parameter parameter) {
        return routing.direction()
                .factor(parameter.master().rows(), parameter.master().cols());
    }

    private static double[] filled(List<Tensor> tensors, double value) {
        double[] values = new double[tensors.size()];
        Arrays.fill(values, value);
        return values;
    }
}
