package hypertransfer.train.optimizer;

import hypertransfer.core.GradientRule;
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
    private final List<Parameter> rest;
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
        rest = parameters.rest();
        transfers = hidden.stream().map(p -> routing.transfer().apply(p.name())).toList();
        hiddenState = declare(routing.direction(), hidden);
        restState = declare(routing.rest(), rest);
    }

    /** Whether the network is evaluated at multiples of the hidden masters, which then need weights of their own. */
    public static boolean representative(Routing routing, List<String> hidden) {
        return hidden.stream().anyMatch(n -> routing.transfer().apply(n).gradient() == GradientRule.REPRESENTATIVE);
    }

    /** The weights are as they shall start: measures their norms and represents them. */
    public void start() {
        double[] readings = engine.readings(masters(hidden), masters(hidden));
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
        Arrays.setAll(scale, k -> transfers.get(k).gradientScale(states.get(k)));
        List<Tensor> u = gradients(hidden);
        routing.direction().apply(engine, u, scale, steps, hiddenState);
        double[] readings = engine.readings(masters(hidden), u);

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
        engine.move(masters(hidden), u, keep, push);

        routing.rest().apply(engine, gradients(rest), filled(rest, 1), steps, restState);
        double restKeep = 1 - restRate * routing.restDecay();
        engine.move(masters(rest), gradients(rest), filled(rest, restKeep), filled(rest, restRate));

        states = taken.stream().map(Step::next).toList();
        steps++;
        represent();
        return taken;
    }

    /** The same rate for all hidden matrices. */
    public List<Step> step(double rate, double restRate) {
        return step(filled(hidden, rate), restRate);
    }

    /** Writes the weights that the network is evaluated at, where they are not the masters themselves. */
    private void represent() {
        List<Tensor> masters = new ArrayList<>(), weights = new ArrayList<>();
        List<Double> scales = new ArrayList<>();
        for (int k = 0; k < hidden.size(); k++) {
            add(hidden.get(k), transfers.get(k).evaluationScale(states.get(k)), masters, scales, weights);
        }
        rest.forEach(parameter -> add(parameter, 1, masters, scales, weights));
        engine.represent(masters, scales.stream().mapToDouble(s -> s).toArray(), weights);
    }

    private static void add(
            Parameter parameter, double scale, List<Tensor> masters, List<Double> scales, List<Tensor> weights) {
        if (parameter.separate()) {
            masters.add(parameter.master());
            scales.add(scale);
            weights.add(parameter.weight());
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

    private static List<Tensor> masters(List<Parameter> parameters) {
        return parameters.stream().map(Parameter::master).toList();
    }

    private static List<Tensor> gradients(List<Parameter> parameters) {
        return parameters.stream().map(Parameter::gradient).toList();
    }

    private static double[] filled(List<Parameter> parameters, double value) {
        double[] values = new double[parameters.size()];
        Arrays.fill(values, value);
        return values;
    }
}
