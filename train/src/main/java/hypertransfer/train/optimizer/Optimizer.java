package hypertransfer.train.optimizer;

import hypertransfer.core.Reading;
import hypertransfer.core.Refusal;
import hypertransfer.core.State;
import hypertransfer.core.Step;
import hypertransfer.core.Transfer;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.train.network.Outline;
import hypertransfer.train.network.Parameter;
import hypertransfer.train.network.Parameters;
import hypertransfer.train.ranks.Team;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.DoubleSupplier;
import java.util.function.IntToDoubleFunction;

/**
 * Moves the parameters of a network: directions, readings, the algebra, moves. Tensors are touched at their owner only;
 * the algebra, which is a few doubles per matrix, is computed for all hidden matrices at every rank.
 */
public final class Optimizer {
    private final Engine engine;
    private final Team team;
    private final Routing routing;
    private final List<Parameter> hidden; // of all ranks
    private final int[] mine; // the numbers of the hidden matrices that this rank owns
    private final List<Tensor> w; // their masters
    private final List<Tensor> u; // their gradients, which become directions
    private final List<Tensor> restW;
    private final List<Tensor> restU;
    private final Apart hiddenApart;
    private final Apart restApart;
    private final List<Rule> rules;
    private final List<Transfer> transfers;
    private final List<Directed> directed;
    private final List<List<Tensor>> restState;
    private final Map<String, Tensor> tensors = new LinkedHashMap<>();
    private List<State> states;
    private Clip.Outcome clipped = Clip.Outcome.NONE;
    private long steps;

    /** Of one process. */
    public Optimizer(Engine engine, Parameters parameters, Routing routing) {
        this(engine, parameters, routing, Team.alone(engine, parameters));
    }

    /** Declares the optimizer's state; after the engine's commit and the weights are written, {@link #start} it. */
    public Optimizer(Engine engine, Parameters parameters, Routing routing, Team team) {
        this.engine = engine;
        this.team = team;
        this.routing = routing;
        List<Parameter> own = parameters.own();
        hidden = parameters.hidden();
        List<String> names = hidden.stream().map(Parameter::name).toList();
        List<Parameter> ownHidden = own.stream().filter(Parameter::hidden).toList();
        mine = ownHidden.stream().mapToInt(p -> names.indexOf(p.name())).toArray();
        w = ownHidden.stream().map(Parameter::master).toList();
        u = ownHidden.stream().map(Parameter::gradient).toList();
        List<Parameter> rest = own.stream().filter(p -> !p.hidden()).toList();
        restW = rest.stream().map(Parameter::master).toList();
        restU = rest.stream().map(Parameter::gradient).toList();
        hiddenApart = Apart.of(ownHidden);
        restApart = Apart.of(rest);
        rules = hidden.stream().map(p -> routing.rule().apply(p.name())).toList();
        transfers = rules.stream().map(Rule::transfer).toList();
        directed = directed(ownHidden);
        restState = declare(routing.rest(), rest);
    }

    /** The weights are as they should start: measures their norms, brings them to their radius and represents them. */
    public void start() {
        double[] readings = team.hidden(engine.readings(w, w), 3);
        List<State> start = new ArrayList<>();
        for (int k = 0; k < hidden.size(); k++) {
            start.add(rules.get(k).start(hidden.get(k).name(), readings[3 * k]));
        }
        for (int i = 0; i < mine.length; i++) {
            double scale = rules.get(mine[i]).startScale();
            if (scale != 1) {
                engine.write(
                        w.get(i),
                        Arrays.stream(engine.read(w.get(i))).map(v -> scale * v).toArray());
            }
        }
        restore(start, 0);
    }

    /** Those of this rank's hidden matrices that have one direction in common. */
    private record Directed(Direction direction, int[] at, List<Tensor> u, List<List<Tensor>> state) {
        void apply(Engine engine, double[] scale, long steps) {
            direction.apply(
                    engine, u, Arrays.stream(at).mapToDouble(i -> scale[i]).toArray(), steps, state);
        }
    }

    private List<Directed> directed(List<Parameter> own) {
        Map<Direction, List<Integer>> groups = new LinkedHashMap<>();
        for (int i = 0; i < mine.length; i++) {
            groups.computeIfAbsent(rules.get(mine[i]).direction(), direction -> new ArrayList<>())
                    .add(i);
        }
        List<Directed> all = new ArrayList<>();
        groups.forEach((direction, at) -> all.add(new Directed(
                direction,
                at.stream().mapToInt(i -> i).toArray(),
                at.stream().map(u::get).toList(),
                declare(direction, at.stream().map(own::get).toList()))));
        return all;
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

    /** What the directions of this rank's pieces remember, by the name it has in files. */
    public Map<String, Tensor> tensors() {
        return Map.copyOf(tensors);
    }

    /**
     * A tensor that a direction remembers.
     *
     * @param parameter the number of its parameter
     */
    public record Memory(int parameter, int rows, int cols) {}

    /** The names of {@link #tensors} of all ranks. */
    public Map<String, Memory> memories() {
        Map<String, Memory> memories = new TreeMap<>();
        List<Outline> all = team.share().outlines();
        for (int p = 0; p < all.size(); p++) {
            Outline whole = all.get(p);
            Direction direction =
                    whole.hidden() ? routing.rule().apply(whole.name()).direction() : routing.rest();
            for (String memory : direction.memory()) {
                Direction.Extent extent = direction.extent(memory, whole.rows(), whole.cols());
                memories.put(name(memory, whole.name()), new Memory(p, extent.rows(), extent.cols()));
            }
        }
        return memories;
    }

    private static String name(String memory, String parameter) {
        return memory + ":" + parameter;
    }

    /**
     * Sets the target's norms to a multiple of the radius, before the gradient is taken: a proxy norm that follows a
     * schedule of its own instead of the recursion.
     */
    public void targetNorms(double factor) {
        states = states.stream().map(s -> s.withTargetNorm(factor * s.R())).toList();
        represent();
    }

    /**
     * The cosine between the gradient that stands ready and its matrix, for each hidden matrix: zero where the loss does not
     * depend on the matrix's scale (Euler's theorem), so it tells while a run trains whether the rescaled gradient is exact.
     * NaN where either is zero. One more reading of all matrices and gradients; nothing is changed.
     */
    public double[] radial() {
        double[] readings = team.hidden(engine.readings(w, u), 3);
        double[] cosines = new double[hidden.size()];
        Arrays.setAll(cosines, k -> readings[3 * k + 2] / (readings[3 * k] * readings[3 * k + 1]));
        return cosines;
    }

    /** Whether some hidden matrix is evaluated at another scale than the carrier's own. */
    public boolean evaluatesElsewhere() {
        return transfers.stream().anyMatch(transfer -> transfer.gradient().evaluatesElsewhere());
    }

    /** Evaluates the network with every hidden matrix at the carrier's own scale, then puts the weights back as they were. */
    public double atCarrier(DoubleSupplier loss) {
        represent(k -> 1);
        double measured = loss.getAsDouble();
        represent();
        return measured;
    }

    /**
     * One step with the gradients that stand ready; they hold the directions afterwards.
     *
     * @param rates the target's rate for each hidden matrix
     * @param restRate the rate of all else
     * @return what happened to each hidden matrix
     */
    public List<Step> step(double[] rates, double restRate) {
        return step(rates, null, restRate);
    }

    /**
     * The same with weight decays that are this step's own, where all hidden matrices are moved by the plain Base optimizer.
     *
     * @param decays one for each hidden matrix; null for those of their transfers
     */
    public List<Step> step(double[] rates, double[] decays, double restRate) {
        if (!(restRate >= 0 && restRate * routing.restDecay() < 1)) {
            throw new Refusal("AdamW's rate is " + restRate + " with weight decay " + routing.restDecay()
                    + "; it must be zero or more, and their product below 1");
        }
        double[] scale = new double[mine.length];
        double placebo = routing.representation().placebo();
        Arrays.setAll(scale, i -> placebo * transfers.get(mine[i]).gradientScale(states.get(mine[i])));
        double[] restScale = filled(restU, 1);
        clip(scale, restScale);
        directed.forEach(group -> group.apply(engine, scale, steps));
        double[] readings = team.hidden(engine.readings(w, u), 3);

        List<Step> taken = new ArrayList<>();
        double[] keep = new double[hidden.size()], push = new double[hidden.size()];
        for (int k = 0; k < hidden.size(); k++) {
            double factor = factor(k);
            Reading reading = new Reading(readings[3 * k], factor * readings[3 * k + 1], factor * readings[3 * k + 2]);
            Transfer transfer = transfers.get(k);
            double decay = decays == null ? transfer.target().decay() : decays[k];
            Step step = transfer.step(states.get(k), reading, rates[k], decay);
            keep[k] = step.keep();
            push[k] = step.push() * factor;
            taken.add(step);
        }
        engine.move(w, u, of(keep), of(push));

        routing.rest().apply(engine, restU, restScale, steps, restState);
        double restKeep = 1 - restRate * routing.restDecay();
        engine.move(restW, restU, filled(restU, restKeep), filled(restU, restRate));

        states = taken.stream().map(Step::next).toList();
        steps++;
        represent();
        return taken;
    }

    /** Clips the gradients that stand ready, after these scales; changes the scales where that is enough. */
    private void clip(double[] scale, double[] restScale) {
        Clip clip = routing.clip();
        if (!clip.any()) {
            return;
        }
        double norm = norm(scale, restScale), kept = clip.factor(norm);
        if (clip.value() > 0) {
            engine.clamp(u, scale, clip.value());
            engine.clamp(restU, restScale, clip.value());
            Arrays.fill(scale, 1);
            kept = norm == 0 ? 1 : norm(scale, restScale) / norm;
        } else {
            for (double[] scales : List.of(scale, restScale)) {
                for (int i = 0; i < scales.length; i++) {
                    scales[i] *= kept;
                }
            }
        }
        clipped = new Clip.Outcome(norm, kept);
    }

    /** The norm of all gradients of all ranks, each after its scale. */
    private double norm(double[] scale, double[] restScale) {
        double[] own = engine.readings(u, u), rest = engine.readings(restU, restU);
        for (int i = 0; i < scale.length; i++) {
            own[3 * i] *= scale[i];
        }
        double[] all = team.hidden(own, 3);
        double squares = 0, others = 0;
        for (int k = 0; k < hidden.size(); k++) {
            squares += all[3 * k] * all[3 * k];
        }
        for (int i = 0; i < restScale.length; i++) {
            others += rest[3 * i] * rest[3 * i] * restScale[i] * restScale[i];
        }
        return Math.sqrt(squares + team.sum(others));
    }

    /** What clipping did in the last step. */
    public Clip.Outcome clipped() {
        return clipped;
    }

    /** The same rate for all hidden matrices. */
    public List<Step> step(double rate, double restRate) {
        double[] rates = new double[hidden.size()];
        Arrays.fill(rates, rate);
        return step(rates, restRate);
    }

    /** The numbers of this rank's own hidden matrices. */
    private double[] of(double[] all) {
        return Arrays.stream(mine).mapToDouble(k -> all[k]).toArray();
    }

    /** Writes the weights that the network is evaluated at, where they are not the masters, and brings them to all. */
    private void represent() {
        represent(k -> transfers.get(k).evaluationScale(states.get(k)));
    }

    private void represent(IntToDoubleFunction scaleOf) {
        Representation how = routing.representation();
        if (!hiddenApart.masters.isEmpty()) { // all of them then, in the order of the states
            double[] scale = new double[mine.length];
            Arrays.setAll(scale, i -> how.factor() * scaleOf.applyAsDouble(mine[i]));
            engine.represent(hiddenApart.masters, scale, how.grid(), hiddenApart.weights);
        }
        engine.represent(restApart.masters, filled(restApart.masters, 1), Engine.FULL_GRID, restApart.weights);
        team.gather();
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
                String name = name(memory, p.name());
                Direction.Extent extent =
                        direction.extent(memory, p.master().rows(), p.master().cols());
                Tensor tensor = engine.tensor(Role.STATE, name, extent.rows(), extent.cols());
                declared.add(tensor);
                tensors.put(name, tensor);
            }
            all.add(declared);
        }
        return all;
    }

    private double factor(int k) {
        Tensor weight = hidden.get(k).weight();
        return rules.get(k).direction().factor(weight.rows(), weight.cols());
    }

    private static double[] filled(List<Tensor> tensors, double value) {
        double[] values = new double[tensors.size()];
        Arrays.fill(values, value);
        return values;
    }
}
