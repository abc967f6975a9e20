package hypertransfer.train.config;

import hypertransfer.core.GradientRule;
import hypertransfer.core.Mode;
import hypertransfer.core.Refusal;
import hypertransfer.core.Schedule;
import hypertransfer.core.Shape;
import hypertransfer.core.Space;
import hypertransfer.core.Transfer;
import hypertransfer.engine.Engine;
import hypertransfer.engine.EngineException;
import hypertransfer.engine.Polynomial;
import hypertransfer.train.data.Vocabulary;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Variant;
import hypertransfer.train.optimizer.Coefficients;
import hypertransfer.train.optimizer.Direction;
import hypertransfer.train.optimizer.Representation;
import hypertransfer.train.optimizer.ShapeFactor;
import java.util.Arrays;
import java.util.Locale;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/** Everything that decides a run, every value resolved. The keys are explained in {@code defaults.yaml}. */
public record Configuration(
        Variant network,
        String preset,
        String engine,
        long seed,
        int steps,
        Model model,
        Matrices matrices,
        AdamW adamw,
        Data data,
        Validation validation,
        Log log,
        Saving checkpoint,
        Ranks ranks,
        double stopAbove,
        From from,
        String target) {

    public record Model(
            int vocab, int layers, int width, int head, int sequence, int batch, int accumulation, boolean recompute) {}

    public record Matrices(
            String direction,
            double momentum,
            boolean nesterov,
            String coefficients,
            boolean bf16,
            String shapeFactor,
            double beta1,
            double beta2,
            double epsilon,
            String mode,
            String gradient,
            double rate,
            double decay,
            double targetDecay,
            String schedule,
            double warmup,
            double finalRatio,
            String recorded,
            Double proxyGrowth,
            double proxyPower,
            String master,
            int grid,
            double placebo) {}

    public record AdamW(
            double rate,
            double decay,
            double beta1,
            double beta2,
            double epsilon,
            String schedule,
            double warmup,
            double finalRatio) {}

    public record Data(String train, String validation, boolean shuffle) {}

    public record Validation(int every, int everyLate, int batches) {}

    public record Log(int matricesEvery) {}

    public record Saving(int every, int keep) {}

    /** Several processes that train one run: how many seconds one waits for the others before all end. */
    public record Ranks(int limit) {}

    /** Another run's checkpoint that this one goes on from, in its own space; none where the run is null. */
    public record From(String run, int step) {}

    /** Each block has some forty tensors, so that many more could not even be laid out in reasonable time. */
    private static final int MOST_LAYERS = 10_000;

    /** Every text that names something is looked up here, so that a wrong one is refused before anything starts. */
    public Configuration {
        positive("steps", steps);
        positive("model.layers", model.layers);
        if (model.layers > MOST_LAYERS) {
            throw new Refusal("model.layers is " + model.layers + "; it must be at most " + MOST_LAYERS);
        }
        positive("model.accumulation", model.accumulation);
        zeroOrMore("validation.every", validation.every);
        zeroOrMore("validation.every_late", validation.everyLate);
        zeroOrMore("stop_above", stopAbove);
        positive("validation.batches", validation.batches);
        positive("log.matrices_every", log.matricesEvery);
        positive("checkpoint.every", checkpoint.every);
        positive("checkpoint.keep", checkpoint.keep);
        positive("ranks.limit", ranks.limit);
        path("data.train", data.train);
        path("data.validation", data.validation);
        path("matrices.recorded", matrices.recorded);
        path("from.run", from.run);
        path("target", target);
    }

    /** Refuses what cannot be trained. */
    public Configuration check() {
        in("model", () -> architecture().dims(model.batch));
        in("matrices", this::direction);
        Transfer transfer = in("matrices", this::transfer);
        in("matrices", () -> new Space.Base(matrices.targetDecay));
        in("matrices", this::matricesSchedule);
        if (matrices.rate * transfer.target().decay() >= 1) {
            throw new Refusal("matrices.rate " + matrices.rate + " times the target's weight decay "
                    + transfer.target().decay() + " is 1 or more, which would erase the matrices; lower either");
        }
        if (matrices.proxyGrowth != null) {
            boolean proxy = transfer.target() instanceof Space.Base && !transfer.isPlain();
            if (!proxy || !(matrices.proxyGrowth > 0) || !(matrices.proxyPower > 0)) {
                throw new Refusal("matrices.proxy_growth " + matrices.proxyGrowth + " and proxy_power "
                        + matrices.proxyPower + " must be above zero, and need a mode with a proxy norm: "
                        + "hypertransfer, hypertransfer-plus or decay-transfer, not " + matrices.mode);
            }
        }
        in("matrices", () -> representation(false));
        in("adamw", this::adamwSchedule);
        in("adamw", this::adam);
        in("adamw", () -> new Space.Base(adamw.decay));
        if (adamw.rate * adamw.decay >= 1) {
            throw new Refusal("adamw.rate " + adamw.rate + " times adamw.decay " + adamw.decay
                    + " is 1 or more, which would erase the weights; lower either");
        }
        if (data.train.equals("demo") && model.vocab < Vocabulary.BYTES.size()) {
            throw new Refusal("data.train is demo, whose tokens are bytes, and model.vocab is " + model.vocab
                    + "; it must be 256 or more");
        }
        return this;
    }

    /** Says which group of keys a value was refused in. */
    private static <T> T in(String group, Supplier<T> value) {
        try {
            return value.get();
        } catch (Refusal | EngineException e) {
            String message = e.getMessage();
            throw new Refusal(message.startsWith(group) ? message : group + ": " + message, e);
        }
    }

    public Architecture architecture() {
        return new Architecture(network, model.vocab, model.layers, model.width, model.head, model.sequence);
    }

    /** Tokens in one step. */
    public long tokensPerStep() {
        return (long) model.batch * model.sequence * model.accumulation;
    }

    public Direction direction() {
        Matrices m = matrices;
        return switch (m.direction) {
            case "muon" -> {
                Polynomial polynomial = named("matrices.coefficients", m.coefficients, Coefficients.values())
                        .polynomial();
                ShapeFactor factor = named("matrices.shape_factor", m.shapeFactor, ShapeFactor.values());
                yield new Direction.Muon(m.momentum, m.nesterov, m.bf16 ? polynomial.inBf16() : polynomial, factor);
            }
            case "adam" -> new Direction.Adam(m.beta1, m.beta2, m.epsilon);
            case "sgd" -> new Direction.Sgd(m.momentum, m.nesterov);
            default -> throw new Refusal("matrices.direction is '" + m.direction + "'; it must be muon, adam or sgd");
        };
    }

    /** The mode's transfer, with the gradient rule that was asked for; {@code auto} is left to be measured. */
    public Transfer transfer() {
        Mode mode = Mode.parse(matrices.mode);
        Transfer named = mode.transfer(matrices.decay);
        Transfer transfer = mode == Mode.DECAY_TRANSFER ? named.following(new Space.Base(matrices.targetDecay)) : named;
        return switch (matrices.gradient) {
            case "mode", "auto" -> transfer;
            default ->
                new Transfer(
                        transfer.target(),
                        transfer.carrier(),
                        named("matrices.gradient", matrices.gradient, GradientRule.values()));
        };
    }

    /**
     * How the network sees the hidden matrices.
     *
     * @param separateWeights whether the engine keeps weights apart from masters anyway: there double masters are
     *     nearly free, and {@code auto} stands for them
     */
    public Representation representation(boolean separateWeights) {
        boolean exact = switch (matrices.master) {
            case "auto" -> separateWeights;
            case "float32" -> false;
            case "float64" -> true;
            default ->
                throw new Refusal("matrices.master is '" + matrices.master + "'; it must be auto, float32 or float64");
        };
        return new Representation(exact, matrices.grid == 0 ? Engine.FULL_GRID : matrices.grid, matrices.placebo);
    }

    public boolean measuresInvariance() {
        return matrices.gradient.equals("auto");
    }

    public Direction.Adam adam() {
        return new Direction.Adam(adamw.beta1, adamw.beta2, adamw.epsilon);
    }

    public Schedule matricesSchedule() {
        Matrices m = matrices;
        return new Schedule.Shaped(m.rate, steps, m.warmup, m.finalRatio, Shape.parse(m.schedule));
    }

    public Schedule adamwSchedule() {
        AdamW a = adamw;
        return new Schedule.Shaped(a.rate, steps, a.warmup, a.finalRatio, Shape.parse(a.schedule));
    }

    /** The paper validates every 125 of 5723 steps, and every 25 in the last tenth; a short run no closer than 5 and 2. */
    public boolean validatesBefore(int step) {
        boolean late = step >= 0.9 * steps;
        int every = late ? cadence(validation.everyLate, 25, 2) : cadence(validation.every, 125, 5);
        return step == 0 || step == steps || step % every == 0;
    }

    private int cadence(int every, int paper, int least) {
        return every > 0 ? every : (int) Math.max(least, Math.round((double) paper * steps / 5723));
    }

    /** The proxy norm at a step over the radius, where it follows a schedule of its own. */
    public double proxy(int step) {
        return 1 + (matrices.proxyGrowth - 1) * Math.pow((double) step / steps, matrices.proxyPower);
    }

    /** The training loss above which a run has diverged. */
    public double limit() {
        return stopAbove > 0 ? stopAbove : 2 * Math.log(model.vocab);
    }

    private static <E extends Enum<E>> E named(String key, String label, E[] values) {
        return Arrays.stream(values)
                .filter(value -> label(value).equals(label))
                .findFirst()
                .orElseThrow(() -> new Refusal(key + " is '" + label + "'; it must be one of "
                        + Arrays.stream(values).map(Configuration::label).collect(Collectors.joining(", "))));
    }

    private static String label(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    private static void zeroOrMore(String key, double value) {
        if (!(value >= 0)) {
            throw new Refusal(key + " is " + value + "; it must be zero or more");
        }
    }

    private static void path(String key, String value) {
        if (value != null && value.indexOf('\0') >= 0) {
            throw new Refusal(key + " has a NUL character, which no name of a file can have; remove it");
        }
    }

    private static void positive(String key, int value) {
        if (value <= 0) {
            throw new Refusal(key + " is " + value + "; it must be one or more");
        }
    }
}
