package hypertransfer.lab;

import hypertransfer.core.Mode;
import hypertransfer.core.Refusal;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Memory;
import hypertransfer.engine.provider.Engines;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Network;
import hypertransfer.train.network.Parameter;
import hypertransfer.train.network.Parameters;
import hypertransfer.train.network.Preset;
import hypertransfer.train.network.Variant;
import hypertransfer.train.optimizer.Coefficients;
import hypertransfer.train.optimizer.Direction;
import hypertransfer.train.optimizer.Optimizer;
import hypertransfer.train.optimizer.Routing;
import hypertransfer.train.optimizer.ShapeFactor;
import java.io.PrintWriter;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tools.jackson.databind.PropertyNamingStrategies;
import tools.jackson.databind.json.JsonMapper;

/** {@code ht bench}: how long a micro-batch and an optimizer's step take. */
@Command(
        name = "bench",
        description = "Times forward, backward and the optimizer's step on random tokens.",
        footer = {"", "Examples:", "  ht bench --preset gpt2-124m --network M1 --engine cuda --json | tail -n 1"})
final class Bench implements Callable<Integer> {
    private static final int TOKENS_A_STEP = 524_288; // the paper's, for the presets of its size

    @Spec
    private CommandSpec spec;

    @Option(names = "--preset", defaultValue = "demo", description = "demo, small, mid, gpt2-124m or dense-500m.")
    private String preset;

    @Option(names = "--network", defaultValue = "M1", description = "M1 or M2.")
    private Variant network;

    @Option(names = "--engine", defaultValue = "auto", description = "reference, cpu, cuda, or auto (default).")
    private String engine;

    @Option(names = "--mode", defaultValue = "base", description = "What the hidden matrices do; base is plain Muon.")
    private String mode;

    @Option(names = "--batch", description = "Sequences in a micro-batch; the preset's by default.")
    private Integer batch;

    @Option(names = "--repeats", defaultValue = "10", description = "Timed repetitions; the median counts.")
    private int repeats;

    @Option(names = "--json", description = "Print the closing JSON line alone.")
    private boolean json;

    private record Summary(
            String preset,
            String network,
            String engine,
            int batch,
            double microMs,
            double optimizerMs,
            double tokensPerS,
            long peakBytes) {}

    @Override
    public Integer call() {
        PrintWriter out = spec.commandLine().getOut();
        if (repeats < 1) {
            throw new Refusal("--repeats is " + repeats + "; it must be one or more");
        }
        String name = Engines.choose(engine);
        Preset sizes = Preset.parse(preset);
        Architecture architecture = sizes.architecture(network);
        int B = batch == null ? sizes.batch() : batch;
        // On the card the orthogonalisation runs in bfloat16, as everyone's does; elsewhere in the engine's format.
        var polynomial =
                name.equals("cuda") ? Coefficients.JORDAN.polynomial().inBf16() : Coefficients.JORDAN.polynomial();
        Routing routing = Routing.standard(
                new Direction.Muon(0.95, false, polynomial, ShapeFactor.NONE),
                Mode.parse(mode).transfer(0.1, 0.1));
        try (Engine opened = Engines.open(name, architecture.dims(B))) {
            boolean representative = Optimizer.representative(routing, List.of(""));
            Parameters parameters = new Parameters(opened, architecture, representative);
            Network net = new Network(opened, architecture, parameters);
            Optimizer optimizer = new Optimizer(opened, parameters, routing);
            Memory memory = opened.commit();
            if (!json) {
                out.print(memory.table());
            }
            Random random = new Random(1234);
            for (Parameter p : parameters.all()) {
                double std = p.hidden() ? 1 / Math.sqrt(p.master().cols()) : 0.006;
                double[] values = new double[Math.toIntExact(p.master().size())];
                boolean gain = p.master().rows() == 1;
                Arrays.setAll(values, i -> gain ? 0 : std * random.nextGaussian());
                opened.write(p.master(), values);
            }
            optimizer.start();
            int N = opened.dims().N(), V = architecture.vocab();
            int[] inputs = random.ints(N, 0, V).toArray(),
                    targets = random.ints(N, 0, V).toArray();
            int accumulation = V > 256 && TOKENS_A_STEP % N == 0 && architecture.layers() >= 12 ? TOKENS_A_STEP / N : 1;
            Runnable micro = () -> net.gradient(inputs, targets, 1.0 / accumulation);
            Runnable step = () -> {
                optimizer.step(1e-3, 1e-3);
                opened.zero(parameters.gradients());
            };
            for (int i = 0; i < 3; i++) {
                micro.run();
                step.run();
            }
            double microMs = median(micro, net), optimizerMs = median(step, net);
            double tokens = accumulation * (double) N / (accumulation * microMs + optimizerMs) * 1000;
            out.println(JsonMapper.builder()
                    .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
                    .build()
                    .writeValueAsString(new Summary(
                            sizes.label(), network.name(), name, B, microMs, optimizerMs, tokens, memory.total())));
            out.flush();
        }
        return Exit.FINE;
    }

    /** Milliseconds; the mean loss is asked for because that waits for the engine. */
    private double median(Runnable work, Network net) {
        double[] times = new double[repeats];
        net.meanLoss();
        for (int i = 0; i < repeats; i++) {
            long start = System.nanoTime();
            work.run();
            net.meanLoss();
            times[i] = (System.nanoTime() - start) / 1e6;
        }
        Arrays.sort(times);
        return times[repeats / 2];
    }
}
