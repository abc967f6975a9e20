package hypertransfer.train.optimizer;

import hypertransfer.core.Clip;
import hypertransfer.core.Diverged;
import hypertransfer.core.GradientRule;
import hypertransfer.core.Reading;
import hypertransfer.core.Refusal;
import hypertransfer.core.State;
import hypertransfer.core.Step;
import hypertransfer.core.Transfer;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Format;
import hypertransfer.engine.Motion;
import hypertransfer.engine.Motion.Readings;
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
import java.util.stream.Collectors;

/**
 * Moves the parameters of a network: directions, readings, the algebra, moves. Tensors are touched at their owner only;
 * the algebra, which is a few doubles per matrix, is computed for all hidden matrices at every rank. In arrays over the
 * hidden matrices the numbers behind theirs stand for everything else, which AdamW moves: one for each share of its rate.
 */
public final class Optimizer {
    private final Engine engine;
    private final Motion motion;
    private final Team team;
    private final Routing routing;
    private final Hidden views;
    private final List<Matrix> hidden; // of all ranks
    private final List<Tensor> w; // the masters of this rank's hidden matrices
    private final List<Tensor> u; // their gradients, which become directions
    private final List<Group> groups; // of this rank: the hidden matrices by their directions, then everything else
    private final List<Double> shares = new ArrayList<>(); // of AdamW's rate
    private final Memories memories;
    private List<State> states;
    private Clip.Outcome clipped = Clip.Outcome.NONE;
    private long steps;

    /**
     * Parameters of this rank that have one direction in common.
     *
     * @param numbers among the hidden matrices of all ranks
     * @param weights what the network is evaluated at: all of them the masters, or none
     * @param state what the direction remembers
     */
    private record Group(
            Direction direction,
            int[] numbers,
            List<Tensor> masters,
            List<Tensor> gradients,
            List<Tensor> weights,
            List<List<Tensor>> state) {
        Group(Direction direction, List<Hidden.Own> members, List<List<Tensor>> state) {
            this(
                    direction,
                    members.stream().mapToInt(Hidden.Own::number).toArray(),
                    tensors(members, Parameter::master),
                    tensors(members, Parameter::gradient),
                    tensors(members, Parameter::weight),
                    state);
        }

        /** Whether AdamW moves it, beside so many hidden matrices. */
        boolean rest(int hidden) {
            return numbers[0] >= hidden;
        }

        double[] of(double[] all) {
            double[] own = new double[numbers.length];
            Arrays.setAll(own, i -> all[numbers[i]]);
            return own;
        }
    }

    /** Declares the optimizer's state; after the engine's commit and the weights are written, {@link #start} it. */
    public Optimizer(Engine engine, Parameters parameters, Routing routing, Team team) {
        this.engine = engine;
        motion = engine.motion();
        this.team = team;
        this.routing = routing;
        views = new Hidden(engine, parameters, routing);
        hidden = views.all;
        w = tensors(views.own, Parameter::master);
        u = tensors(views.own, Parameter::gradient);
        memories = new Memories(engine, new LinkedHashMap<>());
        groups = groups(parameters.own().stream().filter(p -> !p.hidden()).toList());
    }

    private static List<Tensor> tensors(List<Hidden.Own> members, Function<Parameter, Tensor> which) {
        return members.stream().map(Hidden.Own::tensors).map(which).toList();
    }

    /** Those with one direction, and those with one share of AdamW's rate. */
    private List<Group> groups(List<Parameter> others) {
        int n = hidden.size();
        Map<Object, List<Hidden.Own>> together = views.own.stream()
                .collect(Collectors.groupingBy(
                        m -> hidden.get(m.number()).rule().direction(), LinkedHashMap::new, Collectors.toList()));
        for (Parameter p : others) {
            double share = routing.share().applyAsDouble(p.outline());
            if (!shares.contains(share)) {
                shares.add(share);
            }
            int number = n + shares.indexOf(share);
            together.computeIfAbsent(number, none -> new ArrayList<>()).add(new Hidden.Own(number, 0, 1, p));
        }
        List<Group> all = new ArrayList<>();
        together.forEach((key, members) -> {
            Direction direction = key instanceof Direction own ? own : routing.rest();
            all.add(new Group(direction, members, memories.declare(direction, members)));
        });
        return all;
    }

    /** The weights are as they should start: measures their norms, brings them to their radius and represents them. */
    public void start() {
        views.take(Parameter::master);
        Readings readings = all(motion.readings(w, w));
        List<State> start = new ArrayList<>();
        for (int k = 0; k < hidden.size(); k++) {
            start.add(hidden.get(k).rule().start(hidden.get(k).name(), readings.w(k)));
        }
        for (Hidden.Own m : views.own) {
            double scale = hidden.get(m.number()).rule().startScale();
            if (scale != 1) {
                multiply(m.tensors().master(), scale);
            }
        }
        views.give(Parameter::master);
        restore(start, 0);
    }

    /** The readings of every hidden matrix, from those of this rank's own. */
    private Readings all(double[] own) {
        return new Readings(team.hidden(own, views.readings));
    }

    /** Continues from a saved state; {@link #tensors} and the masters must have been written. */
    public void restore(List<State> states, long steps) {
        List<String> names = states.stream().map(State::matrix).toList();
        List<String> own = hidden.stream().map(Matrix::name).toList();
        if (!names.equals(own)) {
            throw new Refusal("the saved state is of matrices " + names + ", the network has " + own);
        }
        this.states = List.copyOf(states);
        this.steps = steps;
        views.take(Parameter::master);
        represent();
    }

    /** The hidden matrices, or the parts that count as such, in the order of all arrays. */
    public List<Matrix> matrices() {
        return hidden;
    }

    /** Multiplies the master of a hidden matrix, or of a part, where this rank owns it; a restore must follow. */
    public void scale(String name, double factor) {
        for (Hidden.Own m : views.own) {
            if (hidden.get(m.number()).name().equals(name)) {
                multiply(m.tensors().master(), factor);
            }
        }
        views.give(Parameter::master);
    }

    private void multiply(Tensor tensor, double factor) {
        engine.write(
                tensor, Arrays.stream(engine.read(tensor)).map(v -> factor * v).toArray());
    }

    /** What the algebra remembers, a state for each hidden matrix. */
    public List<State> states() {
        return states;
    }

    /** What the directions of this rank's pieces remember, by the name it has in files. */
    public Map<String, Tensor> tensors() {
        return memories.tensors();
    }

    /** The names of {@link #tensors} of all ranks. */
    public Map<String, Memories.Extent> memories() {
        return Memories.all(team.share.outlines(), routing, engine.dims().D());
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
        views.take(Parameter::gradient);
        return cosines();
    }

    /** The same, of gradients that were taken; after a clamp they are others. */
    private double[] cosines() {
        Readings readings = all(motion.readings(w, u));
        double[] cosines = new double[hidden.size()];
        Arrays.setAll(cosines, k -> readings.uw(k) / (readings.w(k) * readings.u(k)));
        return cosines;
    }

    /** Whether the loss is taken at another scale than the carrier's own, on which it may depend. */
    public boolean evaluatesElsewhere() {
        return hidden.stream().anyMatch(m -> m.rule().transfer().gradient() == GradientRule.REPRESENTATIVE);
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
     * @param radial what {@link #radial} has read of these gradients; null where it was not asked
     * @return what happened to each hidden matrix
     */
    public List<Step> step(double[] rates, double[] decays, double restRate, double[] radial) {
        if (!(restRate >= 0 && restRate * routing.restDecay() < 1)) {
            throw new Refusal("AdamW's rate is " + restRate + " with weight decay " + routing.restDecay()
                    + "; it must be zero or more, and their product below 1");
        }
        views.take(Parameter::gradient);
        int n = hidden.size(), all = n + shares.size();
        double[] scale = new double[all], keep = new double[all], push = new double[all];
        double placebo = routing.representation().placebo();
        Arrays.setAll(scale, k -> k >= n ? 1 : placebo * transfer(k).gradientScale(states.get(k)));
        clip(scale);
        boolean trained = hidden.stream().anyMatch(m -> m.rule().proxyRate() > 0);
        boolean read = radial != null && routing.clip().value() == 0;
        double[] slopes = !trained || read ? radial : cosines(); // while the gradients are there
        groups.forEach(group -> group.direction.apply(engine, group.gradients, group.of(scale), steps, group.state));

        Readings readings = all(motion.readings(w, u));
        List<Step> taken = new ArrayList<>();
        for (int k = 0; k < n; k++) {
            Matrix m = hidden.get(k);
            double factor = m.rule().direction().factor(m.rows(), m.cols());
            Reading reading = new Reading(readings.w(k), factor * readings.u(k), factor * readings.uw(k));
            double decay = decays == null ? transfer(k).target().decay() : decays[k];
            Step step = transfer(k).step(states.get(k), reading, rates[k], decay);
            keep[k] = step.keep();
            push[k] = step.push() * factor;
            taken.add(step);
        }
        for (int k = n; k < all; k++) { // the plain Base optimizer, which needs no reading
            push[k] = restRate * shares.get(k - n);
            keep[k] = 1 - push[k] * routing.restDecay();
        }
        groups.forEach(group -> motion.move(group.masters, group.gradients, group.of(keep), group.of(push)));
        views.give(Parameter::master);

        List<State> next = new ArrayList<>();
        for (int k = 0; k < n; k++) {
            Step step = taken.get(k);
            double rate = hidden.get(k).rule().proxyRate() * rates[k];
            next.add(rate == 0 ? step.next() : trained(step, rate, slopes[k]));
        }
        states = List.copyOf(next);
        steps++;
        represent();
        return taken;
    }

    /**
     * The proxy norm as a trained number: of log s the loss has the slope {@code <g, w>}, and the cosine is what is left of it
     * without |g| and |w|, as of the directions.
     */
    private static State trained(Step step, double rate, double radial) {
        State next = step.next();
        double norm = Double.isNaN(radial) ? step.targetNorm() : step.targetNorm() * StrictMath.exp(-rate * radial);
        if (!(norm > 0 && norm < Double.POSITIVE_INFINITY)) {
            throw new Diverged(
                    next.matrix(),
                    next.step() - 1,
                    "the trained norm of " + next.matrix() + " is " + norm + " after step " + (next.step() - 1)
                            + "; lower matrices.proxy_rate");
        }
        return next.withTargetNorm(norm);
    }

    private Transfer transfer(int k) {
        return hidden.get(k).rule().transfer();
    }

    /** Clips the gradients that stand ready, after these scales; changes the scales where that is enough. */
    private void clip(double[] scale) {
        Clip clip = routing.clip();
        if (!clip.any()) {
            return;
        }
        double norm = norm(scale), kept = clip.factor(norm);
        if (clip.value() > 0) {
            groups.forEach(group -> motion.clamp(group.gradients, group.of(scale), clip.value()));
            Arrays.fill(scale, 1);
            kept = norm == 0 ? 1 : norm(scale) / norm;
        } else {
            for (int k = 0; k < scale.length; k++) {
                scale[k] *= kept;
            }
        }
        clipped = new Clip.Outcome(
                (float) norm, (float) kept); // ranks divide the sum, so its last bits are not one's own
    }

    /** The norm of all gradients of all ranks, each after its scale. */
    private double norm(double[] scale) {
        int n = hidden.size();
        Readings all = all(motion.readings(u, u));
        List<Tensor> rest = groups.stream()
                .filter(group -> group.rest(n))
                .flatMap(group -> group.gradients.stream())
                .toList();
        Readings others = new Readings(motion.readings(rest, rest));
        double squares = 0, restSquares = 0;
        for (int k = 0; k < n; k++) {
            double met = all.w(k) * scale[k];
            squares += met * met;
        }
        for (int i = 0; i < rest.size(); i++) {
            restSquares += others.w(i) * others.w(i) * scale[n] * scale[n];
        }
        return Math.sqrt(squares + team.sum(restSquares));
    }

    public Clip.Outcome clipped() {
        return clipped;
    }

    /** The same rate for all hidden matrices. */
    public List<Step> step(double rate, double restRate) {
        return step(hidden.stream().mapToDouble(m -> rate).toArray(), null, restRate, null);
    }

    /** Writes the weights that the network is evaluated at, where they are not the masters, and brings them to all. */
    private void represent() {
        represent(k -> transfer(k).evaluationScale(states.get(k)));
    }

    private void represent(IntToDoubleFunction scaleOf) {
        Representation how = routing.representation();
        int n = hidden.size();
        double[] scale = new double[n + shares.size()];
        Arrays.setAll(scale, k -> k >= n ? 1 : how.factor() * scaleOf.applyAsDouble(k));
        for (Group group : groups) {
            if (!group.weights.equals(group.masters)) {
                int bits = group.rest(n) ? Format.FULL_GRID : how.bits();
                motion.represent(group.masters, group.of(scale), bits, group.weights);
            }
        }
        if (views.own.stream().anyMatch(m -> m.tensors().separate())) {
            views.give(Parameter::weight);
        }
        team.gather();
    }
}
