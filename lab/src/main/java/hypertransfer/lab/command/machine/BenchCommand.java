package hypertransfer.lab.command.machine;

import hypertransfer.core.Mode;
import hypertransfer.lab.command.option.EngineOption;
import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.command.option.Labels;
import hypertransfer.lab.command.option.SetOption;
import hypertransfer.lab.experiment.Phases;
import hypertransfer.lab.experiment.Workload;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.network.Preset;
import hypertransfer.train.network.Variant;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import tools.jackson.databind.json.JsonMapper;

/** {@code ht bench}: how fast an engine trains a preset; a step is its micro-batches and one optimizer step. */
@Command(
        name = "bench",
        description = "Measures training steps of a preset on random tokens: medians, after a warm-up.",
        footer = {
            "  ht bench --preset demo --network M1 --engine cpu",
            "  ht bench --preset gpt2-124m --engine cuda --batch 32 --json | tail -n 1",
            "  ht bench --preset demo --accumulation 4    what adding in order costs",
            "  ht bench --preset small --set matrices.direction=lion",
            "  ht bench --preset small --set model.mlp=swiglu --set model.kv_heads=1",
            "  ht bench --preset demo --phases            what one waits for"
        })
public final class BenchCommand implements Runnable {
    private static final int LEAST_STEPS = 5;

    @Spec
    private CommandSpec spec;

    @Option(
            names = "--preset",
            required = true,
            completionCandidates = Labels.Presets.class,
            description = "One of ${COMPLETION-CANDIDATES}.")
    private Preset preset;

    @Option(
            names = "--network",
            defaultValue = "M1",
            description = "M1 or M2 (default: ${DEFAULT-VALUE}); --set model.KEY=... makes other networks of them.")
    private Variant variant;

    @Mixin
    private EngineOption engine;

    @Option(
            names = "--mode",
            defaultValue = "base",
            completionCandidates = Labels.Modes.class,
            description = "One of ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}).")
    private Mode mode;

    @Option(names = "--batch", description = "Sequences in a micro-batch, instead of the preset's.")
    private Integer batch;

    @Option(
            names = "--accumulation",
            defaultValue = "1",
            description = "Micro-batches per step that is measured; from 2 on their gradients are added in order, which"
                    + " one micro-batch does not need (default: ${DEFAULT-VALUE}).")
    private int accumulation;

    @Option(names = "--phases", description = "Measure how long a run takes to start, save and continue, instead.")
    private boolean phases;

    @Option(names = "--recompute", description = "Recompute the inside of blocks in the backward pass, to save memory.")
    private boolean recompute;

    @Option(
            names = "--seconds",
            defaultValue = "10",
            description = "How long to measure; the warm-up takes half as long (default: ${DEFAULT-VALUE}).")
    private double seconds;

    @Mixin
    private SetOption set;

    @Mixin
    private JsonOption json;

    @Override
    public void run() {
        if (!(seconds > 0)) {
            throw new ParameterException(spec.commandLine(), "--seconds is " + seconds + ", it must be above zero");
        }
        if (accumulation < 1) {
            throw new ParameterException(
                    spec.commandLine(), "--accumulation is " + accumulation + ", it must be one or more");
        }
        PrintWriter words = json.people();
        if (phases) {
            phases();
            return;
        }
        Configuration c = configuration("model.accumulation=" + accumulation);
        try (Workload workload = new Workload(c)) {
            words.print(workload.memory().table());
            words.flush();
            run(workload, seconds / 2);
            List<Workload.Times> steps = run(workload, seconds);
            double micro = median(steps, Workload.Times::microMs), move = median(steps, Workload.Times::optimizerMs);
            int micros = Math.max(1, preset.stepTokens() / workload.tokens());
            double tokens = 1000.0 * micros * workload.tokens() / (micros * micro + move);
            words.printf(
                    Locale.ROOT,
                    "%s %s on %s, %d x %d tokens: %.2f ms forward and backward, %.2f ms optimizer, %.0f tokens/s"
                            + " with %d micro-batches per step (medians of %d)%n",
                    preset.label(),
                    variant,
                    c.engine(),
                    c.model().batch(),
                    c.architecture().sequence(),
                    micro,
                    move,
                    tokens,
                    micros,
                    steps.size());
            json.line(JsonMapper.shared()
                    .createObjectNode()
                    .put("preset", preset.label())
                    .put("network", variant.name())
                    .put("engine", c.engine())
                    .put("batch", c.model().batch())
                    .put("micro_ms", micro)
                    .put("optimizer_ms", move)
                    .put("tokens_per_s", tokens)
                    .put("peak_bytes", workload.memory().total()));
        }
    }

    private Configuration configuration(String... more) {
        List<String> settings = new ArrayList<>(List.of(
                "preset=" + preset.label(),
                "network=" + variant,
                "engine=" + engine.chosen(),
                "matrices.mode=" + mode.label(),
                "model.recompute=" + recompute));
        if (batch != null) {
            settings.add("model.batch=" + batch);
            settings.add("model.accumulation=1");
        }
        settings.addAll(List.of(more));
        settings.addAll(set.settings);
        return ConfigurationFile.of(settings.toArray(String[]::new));
    }

    private void phases() {
        Map<String, Double> seconds = Phases.measure(configuration());
        seconds.forEach((phase, s) -> json.people().printf(Locale.ROOT, "%-64s %8.2f s%n", phase, s));
        json.line(seconds);
    }

    private static List<Workload.Times> run(Workload workload, double seconds) {
        List<Workload.Times> steps = new ArrayList<>();
        long end = System.nanoTime() + (long) (1e9 * seconds);
        while (System.nanoTime() < end || steps.size() < LEAST_STEPS) {
            steps.add(workload.step());
        }
        return steps;
    }

    private static double median(List<Workload.Times> steps, ToDoubleFunction<Workload.Times> part) {
        double[] sorted = steps.stream().mapToDouble(part).sorted().toArray();
        return (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
    }
}
