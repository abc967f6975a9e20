package hypertransfer.lab.command.machine;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.proof.Comparison;
import hypertransfer.engine.proof.Result;
import hypertransfer.engine.proof.Tolerance;
import hypertransfer.engine.provider.Engines;
import hypertransfer.lab.command.option.EngineOption;
import hypertransfer.lab.terminal.Exit;
import hypertransfer.train.network.Design;
import hypertransfer.train.network.Differences;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.BiFunction;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code ht selftest}: each operation of an engine against the reference, and gradients against finite differences. */
@Command(
        name = "selftest",
        description =
                "Compares each operation of an engine with the reference engine's, and the gradients of tiny networks"
                        + " with finite differences.",
        footer = {"", "Examples:", "  ht selftest --engine cuda", "  ht selftest --engine cuda-float32"})
public final class SelfTestCommand implements Callable<Integer> {
    private final BiFunction<String, Dims, Engine> open;
    private final List<Dims> sizes;

    @Spec
    private CommandSpec spec;

    @Mixin
    private EngineOption engine;

    public SelfTestCommand() {
        this(Engines::open, Comparison.SIZES);
    }

    /** With engines and sizes of the caller's. */
    SelfTestCommand(BiFunction<String, Dims, Engine> open, List<Dims> sizes) {
        this.open = open;
        this.sizes = sizes;
    }

    @Override
    public Integer call() {
        PrintWriter out = spec.commandLine().getOut();
        String name = engine.chosen();
        Tolerance tolerance = Tolerance.of(Engines.weights(name));
        boolean passed = true;
        for (Dims dims : sizes) {
            out.println(dims);
            for (Result result : Comparison.run(d -> open.apply(name, d), dims)) {
                boolean good = tolerance.accepts(result);
                passed &= good;
                out.printf(
                        Locale.ROOT,
                        "  %-6s %-24s %-12s %.1e%n",
                        good ? "ok" : "FAILED",
                        result.operation(),
                        result.tensor(),
                        result.error());
            }
        }
        for (Map.Entry<String, Design> design : Differences.designs().entrySet()) {
            out.println(design.getKey());
            for (Differences gradient : Differences.of(d -> open.apply(name, d), design.getValue())) {
                boolean good = gradient.accepted(Engines.weights(name));
                passed &= good;
                String parameter = gradient.parameter();
                out.printf(Locale.ROOT, "  %-6s %-37s %.1e%n", good ? "ok" : "FAILED", parameter, gradient.error());
            }
        }
        out.println(passed ? "all operations and gradients agree" : "some operations or gradients differ");
        out.flush();
        return passed ? Exit.FINE : Exit.CHECK_FAILED;
    }
}
