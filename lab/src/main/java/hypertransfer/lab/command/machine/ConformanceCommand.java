package hypertransfer.lab.command.machine;

import hypertransfer.core.Refusal;
import hypertransfer.engine.Format;
import hypertransfer.engine.provider.Engines;
import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.command.option.Options;
import hypertransfer.lab.terminal.Exit;
import hypertransfer.train.golden.Errors;
import hypertransfer.train.golden.Errors.Quantity;
import hypertransfer.train.golden.Errors.Tolerance;
import hypertransfer.train.golden.Golden;
import hypertransfer.train.golden.Replay;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

@Command(
        name = "conformance",
        description = "Replays golden trajectories on an engine and shows its largest errors.",
        footer = {
            "  ht conformance train/src/test/resources/golden --engine reference",
            "  ht conformance train/src/test/resources/golden --json",
            "",
            "All errors are relative. The exit code is 0 if every case is within the",
            "engine's tolerance, else 1."
        })
public final class ConformanceCommand implements Callable<Integer> {
    @Parameters(paramLabel = "DIR", description = "The directory with M1.json, M1.safetensors, ...")
    private Path directory;

    @Mixin
    private Options.Engine engine;

    @Option(
            names = "--precision",
            paramLabel = "NAME",
            description =
                    "Precision of the cuda engine: float32 to check it (default), bf16 as in training, or fp8, which"
                            + " the reference engine can model too.")
    private String precision = "float32";

    @Mixin
    private JsonOption json;

    @Override
    public Integer call() {
        PrintWriter words = json.people();
        String name = engine.chosen();
        String opened = opened(name);
        Tolerance tolerance = Tolerance.of(Engines.weights(opened));
        Errors all = new Errors(tolerance);
        int cases = 0;
        for (Golden golden : Golden.readAll(directory)) {
            Replay replay = new Replay(golden, dims -> Engines.open(opened, dims), tolerance);
            for (Golden.Case c : golden.sizes().cases()) {
                Errors errors = replay.run(c);
                all.merge(errors);
                cases++;
                print(words, golden.sizes().network() + " " + c.label(), errors);
            }
        }
        ObjectNode line =
                JsonMapper.shared().createObjectNode().put("engine", name).put("cases", cases);
        for (Quantity quantity : Quantity.values()) {
            line.put("max_" + quantity.label() + "_error", all.largest(quantity));
        }
        json.either(
                line.put("passed", all.passed()), out -> out.println(all.passed() ? "all agree" : "some do not agree"));
        return all.passed() ? Exit.FINE : Exit.CHECK_FAILED;
    }

    private String opened(String name) {
        return switch (precision) {
            case "float32" -> Engines.exact(name);
            case "bf16" -> {
                if (Engines.weights(name) != Format.BF16) {
                    throw new Refusal("engine " + name + " has no bf16; omit --precision, or take --engine cuda");
                }
                yield name;
            }
            case "fp8" -> Engines.fp8(name);
            default -> throw new Refusal("unknown precision '" + precision + "'; it must be float32, bf16 or fp8");
        };
    }

    private static void print(PrintWriter out, String label, Errors errors) {
        out.printf("%-6s %-36s", errors.passed() ? "ok" : "FAILED", label);
        for (Quantity quantity : Quantity.values()) {
            out.printf(" %s %.1e ", quantity.label(), errors.largest(quantity));
        }
        out.println();
        errors.failures().forEach(failure -> out.println("       " + failure));
    }
}
