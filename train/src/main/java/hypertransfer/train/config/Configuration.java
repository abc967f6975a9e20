package hypertransfer.train.config;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import hypertransfer.core.Clip;
import hypertransfer.core.GradientRule;
import hypertransfer.core.Refusal;
import hypertransfer.core.Schedule;
import hypertransfer.core.Space;
import hypertransfer.engine.EngineException;
import hypertransfer.engine.Layers.Nonlinearity;
import hypertransfer.engine.provider.Engines;
import hypertransfer.engine.ranks.Ranks.Transport;
import hypertransfer.train.Word;
import hypertransfer.train.data.text.Vocabulary;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Design;
import hypertransfer.train.network.Outline;
import hypertransfer.train.network.Preset;
import hypertransfer.train.network.Variant;
import hypertransfer.train.optimizer.Direction;
import hypertransfer.train.optimizer.Representation;
import hypertransfer.train.optimizer.Routing;
import hypertransfer.train.optimizer.Rule;
import hypertransfer.train.optimizer.View;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Supplier;

/** Everything that decides a run, every value resolved. The keys are explained in {@code defaults.yaml}. */
public record Configuration(
        Variant network,
        Preset preset,
        String engine,
        long seed,
        int steps,
        Model model,
        Matrices matrices,
        AdamW adamw,
        Clip clip,
        Data data,
        Validation validation,
        Log log,
        Saving checkpoint,
        Ranks ranks,
        double stopAbove,
        From from,
        String target) {
    /** Sizes, how a step is computed, and where the network differs from {@code network}. */
    public record Model(
            int vocab,
            int layers,
            int width,
            int head,
            int sequence,
            int batch,
            int accumulation,
            boolean recompute,
            Precision precision,
            @JsonUnwrapped Design design) {}

    /** Of products. */
    public enum Precision implements Word {
        /** The engine's own. */
        AUTO,
        FP8
    }

    /** The engine to open: the one chosen, or its like with products in eight bits. */
    public String opened() {
        return model.precision == Precision.AUTO ? engine : in("model", () -> Engines.fp8(engine));
    }

    /**
     * Everything that is no hidden matrix.
     *
     * @param embeddingRate a peak of their own for embeddings, as the next two for the head, and for gains and biases; null: the rate
     */
    public record AdamW(
            double rate,
            Double embeddingRate,
            Double headRate,
            Double gainRate,
            double decay,
            double beta1,
            double beta2,
            double epsilon,
            @JsonUnwrapped Curve curve) {
        public Direction.Adam direction() {
            return new Direction.Adam(beta1, beta2, epsilon);
        }

        public Schedule schedule(int steps) {
            return curve.from(rate, steps);
        }

        private double share(Outline parameter) {
            Double own = switch (parameter.kind()) {
                case EMBEDDING, POSITIONS -> embeddingRate;
                case HEAD -> headRate;
                default -> gainRate;
            };
            return own == null ? 1 : own / rate;
        }

        private Object check() {
            String[] keys = {"embedding_rate", "head_rate", "gain_rate"};
            Double[] rates = {embeddingRate, headRate, gainRate};
            for (int i = 0; i < keys.length; i++) {
                Double own = rates[i];
                if (own != null && !(own >= 0 && own * decay < 1 && rate > 0)) {
                    throw new Refusal(
                            "adamw." + keys[i] + " is " + own + ", with decay " + decay + " and adamw.rate " + rate
                                    + ", whose schedule it follows; it must be zero or more, its product"
                                    + " with the decay below 1, and adamw.rate above zero");
                }
            }
            direction();
            curve.check("adamw", rate);
            new Space.Base(decay);
            if (rate * decay >= 1) {
                throw new Refusal("adamw.rate " + rate + " times adamw.decay " + decay
                        + " is 1 or more, which would erase the weights; lower either");
            }
            return this;
        }
    }

    public record Data(String train, String validation, boolean shuffle) {}

    public record Validation(int every, int batches) {}

    /** @param matricesEvery steps from line to line of {@code matrices.jsonl} */
    public record Log(int matricesEvery) {
        /** Lines from one to the next that has the radial part of the gradient. */
        private static final int RADIAL_EVERY = 10;

        /** Whether a step has a line; the last one always has. */
        public boolean matrices(int step, int steps) {
            return step % matricesEvery == 0 || step == steps - 1;
        }

        /** Whether the line of a step has the radial part, which takes one more reading of all hidden matrices. */
        public boolean radial(int step, int steps) {
            return matrices(step, steps) && (step / matricesEvery % RADIAL_EVERY == 0 || step == steps - 1);
        }
    }

    public record Saving(int every, int keep) {}

    /**
     * Several processes that train one run.
     *
     * @param limit how many seconds one waits for the others before all end
     * @param transport what tensors travel by
     */
    public record Ranks(int limit, Transport transport) {}

    /** Another run's checkpoint that this one continues in its own space; none where the run is null. */
    public record From(String run, int step) {}

    /** Each block has some forty tensors, so that many more could not even be laid out in reasonable time. */
    private static final int MOST_LAYERS = 10_000;

    /** Refuses counts below their least, and paths that no file can have. */
    public Configuration {
        positive("steps", steps);
        positive("model.layers", model.layers);
        if (model.layers > MOST_LAYERS) {
            throw new Refusal("model.layers is " + model.layers + "; it must be at most " + MOST_LAYERS);
        }
        positive("model.accumulation", model.accumulation);
        zeroOrMore("model.mlp_width", model.design.mlpWidth());
        zeroOrMore("model.kv_heads", model.design.kvHeads());
        zeroOrMore("model.window", model.design.window());
        zeroOrMore("validation.every", validation.every);
        zeroOrMore("stop_above", stopAbove);
        positive("validation.batches", validation.batches);
        positive("log.matrices_every", log.matricesEvery);
        positive("checkpoint.every", checkpoint.every);
        positive("checkpoint.keep", checkpoint.keep);
        positive("ranks.limit", ranks.limit);
        path("data.train", data.train);
        path("data.validation", data.validation);
        path("matrices.recorded", matrices.recorded());
        path("from.run", from.run);
        path("target", target);
    }

    Configuration check() {
        Design design = model.design;
        boolean plain = design.mlp() == Nonlinearity.RELU_SQUARED && design.norm() == Design.Norm.RMS && !design.bias();
        boolean eight = engine.endsWith("-fp8");
        if ((eight || model.precision == Precision.FP8) && !plain) {
            throw new Refusal((eight ? "engine is " + engine : "model.precision is fp8")
                    + ", which supports only mlp relu-squared, norm rms and no bias; set these, or "
                    + (eight ? "another engine" : "model.precision to auto"));
        }
        in("model", () -> architecture().dims(model.batch));
        hidden();
        in("adamw", adamw::check);
        if (design.tied() && adamw.headRate != null) {
            throw new Refusal("adamw.head_rate is " + adamw.headRate + ", and model.tied makes the head the embedding's"
                    + " matrix; set adamw.embedding_rate instead, or model.tied to false");
        }
        if (data.train.equals("demo") && model.vocab < Vocabulary.BYTES.size) {
            throw new Refusal("data.train is demo, whose tokens are bytes, and model.vocab is " + model.vocab
                    + "; it must be 256 or more");
        }
        return this;
    }

    /** What each hidden matrix gets, by its name: {@code matrices}, with the settings of its groups over it. */
    public Map<String, Matrices> hidden() {
        Map<String, Matrices> hidden = Groups.resolve(this);
        boolean radius = hidden.values().stream().anyMatch(m -> m.radius() != 1);
        if (from.run != null && radius) {
            throw new Refusal("matrices.radius applies only at the start of a run, but this run continues from.run "
                    + from.run + " and keeps its norms; leave it at 1");
        }
        return hidden;
    }

    /**
     * Which optimizer moves what.
     *
     * @param separateWeights whether the engine keeps weights apart from masters anyway
     */
    public Routing routing(boolean separateWeights) {
        return routing(Map.of(), separateWeights);
    }

    /** The same with the gradient rules that a checkpoint was trained with. */
    public Routing routing(Map<String, GradientRule> saved, boolean separateWeights) {
        Representation weights = matrices.weights().on(separateWeights);
        Map<String, Matrices> all = hidden();
        Map<String, Rule> hidden = new HashMap<>();
        for (Outline matrix : architecture().hidden()) {
            String name = matrix.name();
            Matrices own = all.get(name);
            boolean invariant = own.view().invariant(architecture(), matrix.kind());
            GradientRule before = saved.getOrDefault(name, saved.get(View.part(name, 0)));
            hidden.put(name, own.rule(before == null ? own.gradientRule(invariant, weights.exact()) : before));
        }
        return new Routing(
                matrix -> hidden.get(matrix.name()), adamw.direction(), adamw.decay, adamw::share, weights, clip);
    }

    public Architecture architecture() {
        return new Architecture(
                network, model.design, model.vocab, model.layers, model.width, model.head, model.sequence);
    }

    public long tokensPerStep() {
        return (long) model.batch * model.sequence * model.accumulation;
    }

    /** The paper validates every 125 of 5723 steps, and every 25 in the last tenth; a short run no closer than 5 and 2. */
    public boolean validatesBefore(int step) {
        boolean late = step >= 0.9 * steps;
        int paper = late ? 25 : 125, least = late ? 2 : 5, scaled = (int) Math.round((double) paper * steps / 5723);
        int every = validation.every > 0 && !late ? validation.every : Math.max(least, scaled);
        return step == 0 || step == steps || step % every == 0;
    }

    /** The training loss above which a run has diverged. */
    public double lossLimit() {
        return stopAbove > 0 ? stopAbove : 2 * Math.log(model.vocab);
    }

    /** Says which group of keys, or what else, a value was refused in. */
    public static <T> T in(String group, Supplier<T> value) {
        try {
            return value.get();
        } catch (Refusal | EngineException e) {
            throw in(group, e);
        }
    }

    static Refusal in(String group, RuntimeException e) {
        String message = e.getMessage();
        return new Refusal(message.startsWith(group) ? message : group + ": " + message, e);
    }

    private static void zeroOrMore(String key, Number value) {
        if (!(value.doubleValue() >= 0)) {
            throw new Refusal(key + " is " + value + "; it must be zero or more");
        }
    }

    private static void path(String key, String value) {
        if (value != null && value.indexOf('\0') >= 0) {
            throw new Refusal(key + " has a NUL character, which is not allowed in the name of a file; remove it");
        }
    }

    private static void positive(String key, int value) {
        if (value <= 0) {
            throw new Refusal(key + " is " + value + "; it must be one or more");
        }
    }
}
