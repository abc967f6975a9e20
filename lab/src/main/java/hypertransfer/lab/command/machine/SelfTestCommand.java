package hypertransfer.lab.command.machine;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Format;
import hypertransfer.engine.proof.Comparison;
import hypertransfer.engine.proof.Result;
import hypertransfer.engine.proof.Result.Tolerance;
import hypertransfer.engine.provider.Engines;
import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.command.option.Options;
import hypertransfer.lab.terminal.Exit;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Differences;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.BiFunction;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

@Command(
        name = "selftest",
        description =
                "Compares each operation of an engine with the reference engine's, and the gradients of tiny networks"
                        + " with finite differences.",
        footer = {"  ht selftest --engine cuda", "  ht selftest --engine cuda-fp8 --json"})
public final class SelfTestCommand implements Callable<Integer> {
    private final BiFunction<String, Dims, Engine> open;
    private final List<Dims> sizes;
    private final Map<String, Architecture> networks;

    @Mixin
    private Options.Engine engine;

    @Mixin
    private JsonOption json;

    private record Answer(String engine, boolean passed, List<Check> checks) {}

    private record Check(Dims dims, String operation, String tensor, double error, boolean passed) {}

    public SelfTestCommand() {
        this(Engines::open, Comparison.SIZES, Differences.networks());
    }

    SelfTestCommand(BiFunction<String, Dims, Engine> open, List<Dims> sizes, Map<String, Architecture> networks) {
        this.open = open;
        this.sizes = sizes;
        this.networks = networks;
    }

    @Override
    public Integer call() {
        PrintWriter words = json.people();
        String name = engine.chosen();
        Format format = Engines.weights(name);
        boolean eight = format == Format.FP8; // which tiny networks are too small for, and too coarse
        Tolerance tolerance = Tolerance.of(format);
        List<Check> checks = new ArrayList<>();
        for (Dims dims : eight ? Comparison.sizes(format) : sizes) {
            words.println(dims);
            for (Result result : Comparison.run(d -> open.apply(name, d), dims)) {
                boolean good = tolerance.accepts(result);
                Check check = new Check(dims, result.operation(), result.tensor(), result.error(), good);
                checks.add(check);
                print(words, "%-24s %-12s".formatted(check.operation, check.tensor), check);
            }
        }
        (eight ? Map.<String, Architecture>of() : networks).forEach((label, network) -> {
            words.println(label);
            for (Differences gradient : Differences.of(d -> open.apply(name, d), network)) {
                boolean good = gradient.accepted(format);
                Check check = new Check(
                        gradient.dims(), "gradient of " + label, gradient.parameter(), gradient.error(), good);
                checks.add(check);
                print(words, "%-37s".formatted(check.tensor), check);
            }
        });
        boolean passed = checks.stream().allMatch(Check::passed);
        String sum = passed ? "all operations and gradients agree" : "some operations or gradients differ";
        json.either(new Answer(name, passed, checks), out -> out.println(sum));
        return passed ? Exit.FINE : Exit.CHECK_FAILED;
    }

    private static void print(PrintWriter words, String what, Check check) {
        words.printf("  %-6s %s %.1e%n", check.passed ? "ok" : "FAILED", what, check.error);
    }
}
