package hypertransfer.lab.command.machine;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.proof.Comparison;
import hypertransfer.engine.proof.Result;
import hypertransfer.engine.proof.Tolerance;
import hypertransfer.engine.provider.Engines;
import hypertransfer.lab.command.option.EngineOption;
import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.terminal.Exit;
import hypertransfer.lab.terminal.JsonLine;
import hypertransfer.train.network.Design;
import hypertransfer.train.network.Differences;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.BiFunction;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code ht selftest}: each operation of an engine against the reference, and gradients against finite differences. */
@Command(
        name = "selftest",
        description =
                "Compares each operation of an engine with the reference engine's, and the gradients of tiny networks"
                        + " with finite differences.",
        footer = {"  ht selftest --engine cuda", "  ht selftest --engine cuda-float32 --json"})
public final class SelfTestCommand implements Callable<Integer> {
    private final BiFunction<String, Dims, Engine> open;
    private final List<Dims> sizes;
    private final Map<String, Design> designs;

    @Mixin
    private EngineOption engine;

    @Mixin
    private JsonOption json;

    /** The JSON line. */
    private record Answer(String engine, boolean passed, List<Check> checks) {}

    private record Check(Dims dims, String operation, String tensor, double error, boolean passed) {}

    public SelfTestCommand() {
        this(Engines::open, Comparison.SIZES, Differences.designs());
    }

    /** With engines, sizes and networks of the caller's. */
    SelfTestCommand(BiFunction<String, Dims, Engine> open, List<Dims> sizes, Map<String, Design> designs) {
        this.open = open;
        this.sizes = sizes;
        this.designs = designs;
    }

    @Override
    public Integer call() {
        PrintWriter out = json.out();
        String name = engine.chosen();
        Tolerance tolerance = Tolerance.of(Engines.weights(name));
        List<Check> checks = new ArrayList<>();
        for (Dims dims : sizes) {
            if (!json.only) {
                out.println(dims);
            }
            for (Result result : Comparison.run(d -> open.apply(name, d), dims)) {
                boolean good = tolerance.accepts(result);
                checks.add(new Check(dims, result.operation(), result.tensor(), result.error(), good));
                if (!json.only) {
                    out.printf(
                            Locale.ROOT,
                            "  %-6s %-24s %-12s %.1e%n",
                            good ? "ok" : "FAILED",
                            result.operation(),
                            result.tensor(),
                            result.error());
                }
            }
        }
        for (Map.Entry<String, Design> design : designs.entrySet()) {
            if (!json.only) {
                out.println(design.getKey());
            }
            for (Differences gradient : Differences.of(d -> open.apply(name, d), design.getValue())) {
                boolean good = gradient.accepted(Engines.weights(name));
                checks.add(new Check(
                        gradient.dims(),
                        "gradient of " + design.getKey(),
                        gradient.parameter(),
                        gradient.error(),
                        good));
                if (!json.only) {
                    out.printf(
                            Locale.ROOT,
                            "  %-6s %-37s %.1e%n",
                            good ? "ok" : "FAILED",
                            gradient.parameter(),
                            gradient.error());
                }
            }
        }
        boolean passed = checks.stream().allMatch(Check::passed);
        out.println(
                json.only
                        ? JsonLine.of(new Answer(name, passed, checks))
                        : passed ? "all operations and gradients agree" : "some operations or gradients differ");
        return passed ? Exit.FINE : Exit.CHECK_FAILED;
    }
}
