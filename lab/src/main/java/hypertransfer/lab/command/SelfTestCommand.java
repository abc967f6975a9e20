package hypertransfer.lab.command;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.proof.Comparison;
import hypertransfer.engine.provider.Engines;
import hypertransfer.lab.terminal.Exit;
import java.io.PrintWriter;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code ht selftest}: each operation of an engine against the reference. */
@Command(
        name = "selftest",
        description = "Compares each operation of an engine with the reference engine's.",
        footer = {"", "Examples:", "  ht selftest --engine cuda", "  ht selftest --engine cuda-float32"})
public final class SelfTestCommand implements Callable<Integer> {
    /** What float32 and bfloat16 leave of a result, relative. */
    private static final double FLOAT32 = 1e-5, BF16 = 2e-2;

    @Spec
    private CommandSpec spec;

    @Mixin
    private EngineOption engine;

    @Override
    public Integer call() {
        PrintWriter out = spec.commandLine().getOut();
        String name = engine.chosen();
        boolean passed = true;
        for (Dims dims : Comparison.SIZES) {
            out.println(dims);
            try (Engine opened = Engines.open(name, dims)) {
                for (Comparison.Result result : Comparison.run(opened, 1)) {
                    boolean rounded = name.equals("cuda") || result.operation().endsWith("bf16");
                    boolean good = result.error() <= (rounded ? BF16 : FLOAT32);
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
        }
        out.println(passed ? "all operations agree" : "some operations differ");
        out.flush();
        return passed ? Exit.FINE : Exit.CHECK_FAILED;
    }
}
