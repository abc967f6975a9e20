package hypertransfer.lab.command.machine;

import hypertransfer.core.Limits;
import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.door.Timed;
import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.command.option.Options;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.network.Preset;
import hypertransfer.train.network.Variant;
import hypertransfer.train.run.Feed;
import hypertransfer.train.run.Session;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import java.util.function.UnaryOperator;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** {@code ht bench}: how fast an engine trains a preset; a step is its micro-batches and one optimizer step. */
@Command(
        name = "bench",
        description = "Measures training steps of a preset on random tokens: medians, after a warm-up.",
        footer = {
            "  ht bench --preset demo --network M1 --engine cpu",
            "  ht bench --preset gpt2-124m --engine cuda --batch 32 --json",
            "  ht bench --preset demo --operations        how much of a step each one takes",
            "  ht bench --preset demo --set model.accumulation=4",
            "  ht bench --preset small --set matrices.direction=lion",
            "  ht bench --preset small --set model.mlp=swiglu --set model.kv_heads=1",
            "  ht bench --preset gpt2-124m --engine cuda --set model.precision=fp8",
            "",
            "The share of the peak counts six operations per token and number of a matrix",
            "that is multiplied, and 6 x layers x sequence x width for causal attention,",
            "against the card's dense peak in the precision of its products."
        })
public final class BenchCommand implements Runnable {
    private static final int LEAST_STEPS = 5;
    private static final double RATE = 1e-3;

    @Option(
            names = "--preset",
            paramLabel = "NAME",
            required = true,
            completionCandidates = Options.Presets.class,
            description = "One of ${COMPLETION-CANDIDATES}.")
    private Preset preset;

    @Option(
            names = "--network",
            paramLabel = "NAME",
            description = "M1 or M2 (default: ${DEFAULT-VALUE}); --set model.KEY=... changes the network.")
    private Variant variant = Variant.M1;

    @Mixin
    private Options.Engine engine;

    @Option(names = "--batch", paramLabel = "N", description = "Sequences in a micro-batch, instead of the preset's.")
    private Integer batch;

    @Option(
            names = "--operations",
            description =
                    "Print how much of a step each operation takes. This waits for the engine before and after each"
                            + " operation, so on a card the step itself takes longer.")
    private boolean operations;

    @Option(
            names = "--seconds",
            paramLabel = "N",
            description = "How long to measure; the warm-up takes half as long (default: 10).")
    private double seconds = 10;

    @Mixin
    private Options.Settings set;

    @Mixin
    private JsonOption json;

    @Override
    public void run() {
        Limits.aboveZero("--seconds", seconds);
        PrintWriter words = json.people();
        Configuration c = configuration();
        Timed[] timed = new Timed[1];
        UnaryOperator<Engine> door = engine -> operations ? (timed[0] = new Timed(engine)).door() : engine;
        try (Session session = Session.open(c, door)) { // as 'ht train' would train it, apart from the data
            words.print(session.memory().table());
            words.flush();
            Dims dims = session.engine().dims();
            Random random = new Random(1);
            int[] inputs = random.ints(dims.N(), 0, dims.V()).toArray();
            Feed.Batch drawn =
                    new Feed.Batch(inputs, random.ints(dims.N(), 0, dims.V()).toArray());
            session.decide(drawn);
            Supplier<Times> step = () -> step(session, drawn, c.model().accumulation());
            run(step, seconds / 2);
            if (operations) {
                timed[0].clear();
            }
            List<Times> steps = run(step, seconds);
            double micro = median(steps, Times::microMs), move = median(steps, Times::optimizerMs);
            int micros = set.keys().contains("model.accumulation")
                    ? c.model().accumulation()
                    : Math.max(1, preset.stepTokens / dims.N());
            double tokens = 1000.0 * micros * dims.N() / (micros * micro + move);
            words.printf("%s %s on %s, ", preset.label(), variant, c.opened());
            words.printf("%d x %d tokens: ", c.model().batch(), c.architecture().sequence());
            words.printf("%.2f ms forward and backward, %.2f ms optimizer, %.0f tokens/s", micro, move, tokens);
            words.printf(
                    " with %d micro-batch%s per step (medians of %d)", micros, micros == 1 ? "" : "es", steps.size());
            double peak = session.engine().peak(),
                    share = tokens * c.architecture().operations() / peak;
            words.println(peak > 0 ? ", %.1f%% of the card's peak".formatted(100 * share) : "");
            if (operations) {
                double ms = steps.stream()
                        .mapToDouble(t -> c.model().accumulation() * t.microMs() + t.optimizerMs())
                        .sum();
                words.print(timed[0].table(steps.size(), ms));
            }
            ObjectNode line = JsonMapper.shared()
                    .createObjectNode()
                    .put("preset", preset.label())
                    .put("network", variant.name())
                    .put("engine", c.opened())
                    .put("batch", c.model().batch())
                    .put("micro_ms", micro)
                    .put("optimizer_ms", move)
                    .put("tokens_per_s", tokens)
                    .put("peak_bytes", session.memory().total());
            if (peak > 0) {
                line.put("share_of_peak", share);
            }
            if (operations) {
                line.putPOJO("operations", timed[0].operations());
            }
            json.either(line, out -> {}); // they have read it
        }
    }

    /** One micro-batch per step, unless --set says otherwise. */
    private Configuration configuration() {
        List<String> settings = new ArrayList<>(List.of(
                "preset=" + preset.label(), "network=" + variant, "engine=" + engine.chosen(), "model.accumulation=1"));
        if (batch != null) {
            settings.add("model.batch=" + batch);
        }
        settings.addAll(set.settings);
        return ConfigurationFile.of(settings.toArray(String[]::new));
    }

    private static List<Times> run(Supplier<Times> step, double seconds) {
        List<Times> steps = new ArrayList<>();
        long end = System.nanoTime() + (long) (1e9 * seconds);
        while (System.nanoTime() < end || steps.size() < LEAST_STEPS) {
            steps.add(step.get());
        }
        return steps;
    }

    private static double median(List<Times> steps, ToDoubleFunction<Times> part) {
        double[] sorted = steps.stream().mapToDouble(part).sorted().toArray();
        return (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
    }

    /** How long the parts of a step took, one micro-batch and the optimizer. */
    private record Times(double microMs, double optimizerMs) {}

    /** Micro-batches, whose gradients are added in order where there are several, and one step of the optimizer. */
    private static Times step(Session session, Feed.Batch batch, int micros) {
        long start = System.nanoTime();
        for (int micro = 0; micro < micros; micro++) {
            session.network().gradient(batch.inputs(), batch.targets(), micro, null);
            session.team().add();
        }
        session.network().meanLoss();
        long between = System.nanoTime();
        session.optimizer().step(RATE, RATE);
        session.team().zero();
        session.network().meanLoss(); // which waits for the engine
        return new Times((between - start) / 1e6 / micros, (System.nanoTime() - between) / 1e6);
    }
}
