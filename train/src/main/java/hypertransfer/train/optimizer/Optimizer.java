package hypertransfer.train.optimizer;

import hypertransfer.core.Clip;
import hypertransfer.core.Reading;
import hypertransfer.core.Refusal;
import hypertransfer.core.State;
import hypertransfer.core.Step;
import hypertransfer.core.Transfer;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Format;
import hypertransfer.engine.Motion;
import hypertransfer.engine.Tensor;
import hypertransfer.train.network.Parameter;
import hypertransfer.train.network.Parameters;
import hypertransfer.train.ranks.Team;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.DoubleSupplier;
import java.util.function.Function;
import java.util.function.IntToDoubleFunction;

/**
 * Moves the parameters of a network: directions, readings, the algebra, moves. Tensors are touched at their owner only;
 * the algebra, which is a few doubles per matrix, is computed for all hidden matrices at every rank.
 */
public final class Optimizer {
    private final Engine engine;
    private final Motion motion;
    private final Team team;
    private final Routing routing;
    private final Hidden views;
    private final List<Hidden.Matrix> hidden; // of all ranks
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
    private final Memories memories;
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
        motion = engine.motion();
        this.team = team;
        this.routing = routing;
        List<Parameter> own = parameters.own();
        views = new Hidden(engine, parameters, routing);
        hidden = views.all;
        mine = views.own.stream().mapToInt(Hidden.Own::number).toArray();
        w = views.own.stream().map(Hidden.Own::master).toList();
        u = views.own.stream().map(Hidden.Own::gradient).toList();
        List<Parameter> rest = own.stream().filter(p -> !p.hidden()).toList();
        restW = rest.stream().map(Parameter::master).toList();
        restU = rest.stream().map(Parameter::gradient).toList();
        hiddenApart = Apart.of(
                views.own.stream().filter(m -> m.weight() != m.master()).toList(),
                Hidden.Own::master,
                Hidden.Own::weight);
        restApart = Apart.of(rest.stream().filter(Parameter::separate).toList(), Parameter::master, Parameter::weight);
        rules = hidden.stream().map(Hidden.Matrix::rule).toList();
        transfers = rules.stream().map(Rule::transfer).toList();
        memories = new Memories(engine);
        directed = directed();
        restState = memories.declare(
                routing.rest(),
                rest.stream()
                        .map(p -> new Memories.Parts(
                                p.name(), 1, p.master().rows(), p.master().cols()))
                        .toList());
    }

    /** The weights are as they should start: measures their norms, brings them to their radius and represents them. */
    public void start() {
        views.takeMasters();
        double[] readings = numbers(motion.readings(w, w));
        List<State> start = new ArrayList<>();
        for (int k = 0; k < hidden.size(); k++) {
            start.add(rules.get(k).start(hidden.get(k).name(), readings[3 * k]));
        }
        for (int i = 0; i < mine.length; i++) {
            double scale = rules.get(mine[i]).startScale();
            if (scale != 1) {
                multiply(w.get(i), scale);
            }
        }
        views.giveMasters();
        restore(start, 0);
    }

    /** Three numbers of every hidden matrix, from those of this rank's own. */
    private double[] numbers(double[] own) {
        return team.hidden(
                own, Arrays.stream(views.counts).map(count -> 3 * count).toArray());
    }

    /** Those of this rank's hidden matrices that have one direction in common. */
    private record Directed(Direction direction, int[] at, List<Tensor> u, List<List<Tensor>> state) {
        void apply(Engine engine, double[] scale, long steps) {
            direction.apply(
                    engine, u, Arrays.stream(at).mapToDouble(i -> scale[i]).toArray(), steps, state);
        }
    }

    private List<Directed> directed() {
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
                memories.declare(direction, remembering(at)))));
        return all;
    }

    /** The wholes of these matrices, whose parts follow each other. */
    private List<Memories.Parts> remembering(List<Integer> at) {
        Map<String, Memories.Parts> wholes = new LinkedHashMap<>();
        for (int i : at) {
            Hidden.Matrix m = hidden.get(mine[i]);
            wholes.merge(m.whole(), new Memories.Parts(m.whole(), 1, m.rows(), m.cols()), Memories.Parts::with);
        }
        return List.copyOf(wholes.values());
    }

    /** Continues from a saved state; {@link #tensors} and the masters must have been written. */
    public void restore(List<State> states, long steps) {
        List<String> names = states.stream().map(State::matrix).toList();
        List<String> own = names();
        if (!names.equals(own)) {
            throw new Refusal("the saved state is of matrices " + names + ", the network has " + own);
        }
        this.states = List.copyOf(states);
        this.steps = steps;
        views.takeMasters();
        represent();
    }

    /** The names of the hidden matrices, or of the parts that count as such, in the order of all arrays. */
    public List<String> names() {
        return hidden.stream().map(Hidden.Matrix::name).toList();
    }

    /** Multiplies the master of a hidden matrix, or of a part, where this rank owns it; a restore must follow. */
    public void scale(String name, double factor) {
        for (int i = 0; i < mine.length; i++) {
            if (hidden.get(mine[i]).name().equals(name)) {
                multiply(w.get(i), factor);
            }
        }
        views.giveMasters();
    }

    private void multiply(Tensor tensor, double factor) {
        engine.write(
                tensor, Arrays.stream(engine.read(tensor)).map(v -> factor * v).toArray());
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
        return memories.tensors();
    }

    /** The names of {@link #tensors} of all ranks. */
    public Map<String, Memories.Memory> memories() {
        return Memories.all(team.share().outlines(), routing, engine.dims().D());
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
        views.takeGradients();
        double[] readings = numbers(motion.readings(w, u));
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
        try {
            return loss.getAsDouble();
        } finally {
            represent();
        }
    }

    /**
     * One step with the gradients that stand ready; they hold the directions afterwards.
     *
     * @param rates the target's rate for each hidden matrix
     * @param decays weight decays that are this step's own, one for each hidden matrix, where all are moved by the plain
     *     Base optimizer; null for those of their transfers
     * @param restRate the rate of all else
     * @return what happened to each hidden matrix
     */
    public List<Step> step(double[] rates, double[] decays, double restRate) {
        if (!(restRate >= 0 && restRate * routing.restDecay() < 1)) {
            throw new Refusal("AdamW's rate is " + restRate + " with weight decay " + routing.restDecay()
                    + "; it must be zero or more, and their product below 1");
        }
        views.takeGradients();
        double[] scale = new double[mine.length];
        double placebo = routing.representation().placebo();
        Arrays.setAll(scale, i -> placebo * transfers.get(mine[i]).gradientScale(states.get(mine[i])));
        double[] restScale = filled(restU, 1);
        clip(scale, restScale);
        directed.forEach(group -> group.apply(engine, scale, steps));
        double[] readings = numbers(motion.readings(w, u));

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
        motion.move(w, u, of(keep), of(push));
        views.giveMasters();

        routing.rest().apply(engine, restU, restScale, steps, restState);
        double restKeep = 1 - restRate * routing.restDecay();
        motion.move(restW, restU, filled(restU, restKeep), filled(restU, restRate));

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
            motion.clamp(u, scale, clip.value());
            motion.clamp(restU, restScale, clip.value());
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
        double[] own = motion.readings(u, u), rest = motion.readings(restU, restU);
        for (int i = 0; i < scale.length; i++) {
            own[3 * i] *= scale[i];
        }
        double[] all = numbers(own);
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
        return step(rates, null, restRate);
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
            motion.represent(hiddenApart.masters, scale, how.grid(), hiddenApart.weights);
            views.giveWeights();
        }
        motion.represent(restApart.masters, filled(restApart.masters, 1), Format.FULL_GRID, restApart.weights);
        team.gather();
    }

    /** The parameters whose weights are not their masters. */
    private record Apart(List<Tensor> masters, List<Tensor> weights) {
        static <T> Apart of(List<T> apart, Function<T, Tensor> master, Function<T, Tensor> weight) {
            return new Apart(
                    apart.stream().map(master).toList(),
                    apart.stream().map(weight).toList());
        }
    }

    private double factor(int k) {
        Hidden.Matrix m = hidden.get(k);
        return m.rule().direction().factor(m.rows(), m.cols());
    }

    private static double[] filled(List<Tensor> tensors, double value) {
        double[] values = new double[tensors.size()];
        Arrays.fill(values, value);
        return values;
    }
}
