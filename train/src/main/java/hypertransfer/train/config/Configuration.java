package hypertransfer.train.config;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import hypertransfer.core.Refusal;
import hypertransfer.engine.Nonlinearity;
import hypertransfer.engine.ranks.Transport;
import hypertransfer.train.data.text.Vocabulary;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Design;
import hypertransfer.train.network.Preset;
import hypertransfer.train.network.Variant;

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

    /** Sizes, and where the network differs from {@code network}; see {@link Design}. */
    public record Model(
            int vocab,
            int layers,
            int width,
            int head,
            int sequence,
            int batch,
            int accumulation,
            boolean recompute,
            Nonlinearity mlp,
            int mlpWidth,
            int kvHeads,
            int window,
            boolean qkNorm,
            Design.Positions positions,
            Design.Norm norm,
            boolean gain,
            boolean embedNorm,
            boolean bias,
            boolean tied) {}

    /** Everything that is no hidden matrix. */
    public record AdamW(
            double rate,
            double decay,
            @JsonUnwrapped Update.Moments moments,
            @JsonUnwrapped Fall fall) {}

    /** The most that a step's gradients may be, together or each number; 0 for no limit. */
    public record Clip(double norm, double value) {}

    public record Data(String train, String validation, boolean shuffle) {}

    public record Validation(int every, int everyLate, int batches) {}

    /**
     * @param matricesEvery steps from line to line of {@code matrices.jsonl}
     * @param radialEvery lines from one to the next that has the radial part of the gradient
     */
    public record Log(int matricesEvery, int radialEvery) {
        /** Whether a step has a line; the last one always has. */
        public boolean matrices(int step, int steps) {
            return step % matricesEvery == 0 || step == steps - 1;
        }

        /** Whether the line of a step has the radial part, which takes one more reading of all hidden matrices. */
        public boolean radial(int step, int steps) {
            return matrices(step, steps) && (step / matricesEvery % radialEvery == 0 || step == steps - 1);
        }
    }

    public record Saving(int every, int keep) {}

    /**
     * Several processes that train one run.
     *
     * @param limit how many seconds one waits for the others before all end
     * @param carrier what tensors travel by
     */
    public record Ranks(int limit, Transport carrier) {}

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
        zeroOrMore("model.mlp_width", model.mlpWidth);
        zeroOrMore("model.kv_heads", model.kvHeads);
        zeroOrMore("model.window", model.window);
        zeroOrMore("validation.every", validation.every);
        zeroOrMore("validation.every_late", validation.everyLate);
        zeroOrMore("stop_above", stopAbove);
        positive("validation.batches", validation.batches);
        positive("log.matrices_every", log.matricesEvery);
        positive("log.radial_every", log.radialEvery);
        positive("checkpoint.every", checkpoint.every);
        positive("checkpoint.keep", checkpoint.keep);
        positive("ranks.limit", ranks.limit);
        path("data.train", data.train);
        path("data.validation", data.validation);
        path("matrices.recorded", matrices.recorded());
        path("from.run", from.run);
        path("target", target);
    }

    /** The same on this engine. */
    public Configuration on(String name) {
        return new Configuration(
                network,
                preset,
                name,
                seed,
                steps,
                model,
                matrices,
                adamw,
                clip,
                data,
                validation,
                log,
                checkpoint,
                ranks,
                stopAbove,
                from,
                target);
    }

    /** Refuses what cannot be trained. */
    Configuration check() {
        Algorithm.in("model", () -> architecture().dims(model.batch));
        algorithm();
        if (data.train.equals("demo") && model.vocab < Vocabulary.BYTES.size()) {
            throw new Refusal("data.train is demo, whose tokens are bytes, and model.vocab is " + model.vocab
                    + "; it must be 256 or more");
        }
        return this;
    }

    /** Directions, transfer and schedules. */
    public Algorithm algorithm() {
        return Algorithm.of(this);
    }

    public Architecture architecture() {
        return new Architecture(design(), model.vocab, model.layers, model.width, model.head, model.sequence);
    }

    private Design design() {
        Model m = model;
        return new Design(
                network == Variant.M1,
                m.qkNorm,
                m.mlp,
                m.mlpWidth,
                m.kvHeads,
                m.window,
                m.positions,
                m.norm,
                m.gain,
                m.embedNorm,
                m.bias,
                m.tied);
    }

    public long tokensPerStep() {
        return (long) model.batch * model.sequence * model.accumulation;
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

    /** The training loss above which a run has diverged. */
    public double lossLimit() {
        return stopAbove > 0 ? stopAbove : 2 * Math.log(model.vocab);
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
