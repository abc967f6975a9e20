package hypertransfer.lab.command.machine;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Layers;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.provider.Engines;
import hypertransfer.lab.terminal.Exit;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Differences;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** {@code ht selftest} without a GPU: the cpu engine passes, and one that is wrong does not. */
class SelfTestCommandTest {
    private static final String LLAMA = "M2 with SwiGLU, 1 key/value head, no Q/K norm, no norm of the embedding";

    private final StringWriter out = new StringWriter();

    private int run(BiFunction<String, Dims, Engine> open, String... more) {
        List<Dims> sizes = List.of(new Dims(2, 13, 18, 6, 37), new Dims(1, 5, 6, 6, 13));
        Map<String, Architecture> networks =
                Map.of(LLAMA, Differences.networks().get(LLAMA)); // DesignTest has them all
        return new CommandLine(new SelfTestCommand(open, sizes, networks))
                .setOut(new PrintWriter(out))
                .execute(Stream.concat(Stream.of("--engine", "cpu"), Stream.of(more))
                        .toArray(String[]::new));
    }

    @Test
    void theCpuEnginePasses() {
        assertThat(run(Engines::open)).isZero();
        assertThat(out.toString())
                .contains(
                        "Dims[B=2, T=13, C=18, D=6, V=37, G=3, F=72, W=13]",
                        "ok     attentionBackward M2",
                        LLAMA,
                        "ok     blocks.0.mlp.gate.weight",
                        "all operations and gradients agree")
                .doesNotContain("FAILED");
    }

    @Test
    void anEngineThatIsWrongInOneOperationDoesNot() {
        assertThat(run(SelfTestCommandTest::wrongActivation)).isEqualTo(Exit.CHECK_FAILED);
        List<String> failed =
                out.toString().lines().filter(line -> line.contains("FAILED")).toList();
        assertThat(failed.subList(0, 16))
                .allMatch(line -> line.matches(
                        "  FAILED (activation (M[12]|\\w+|\\w+ M1)|productActivation( operand)?) +s8? .*"));
        assertThat(failed.subList(16, failed.size()))
                .anyMatch(line -> line.contains("mlp.proj.weight"))
                .allMatch(line -> line.matches("  FAILED [a-z0-9.]+ +[0-9.e+-]+"));
        assertThat(out.toString()).endsWith("some operations or gradients differ" + System.lineSeparator());
        out.getBuffer().setLength(0);
        assertThat(run(SelfTestCommandTest::wrongActivation, "--json")).isEqualTo(Exit.CHECK_FAILED);
        JsonNode answer = JsonMapper.shared().readTree(out.toString());
        assertThat(answer.path("passed").asBoolean(true)).isFalse();
        assertThat(answer.path("checks")
                        .valueStream()
                        .filter(check -> !check.path("passed").asBoolean()))
                .hasSize(failed.size())
                .allMatch(check -> check.path("operation")
                        .asString()
                        .matches("(activation|gradient of) .*|productActivation( operand)?"));
    }

    private static Engine wrongActivation(String name, Dims dims) {
        Engine engine = Engines.open(name, dims);
        return (Engine) Proxy.newProxyInstance(
                SelfTestCommandTest.class.getClassLoader(),
                new Class<?>[] {Engine.class, Layers.class},
                (proxy, method, args) -> {
                    if (method.getName().equals("layers")) {
                        return proxy;
                    }
                    if (method.getName().equals("replay")) {
                        ((Runnable) args[1]).run(); // inside which nothing could be read
                        return null;
                    }
                    Object result =
                            method.invoke(method.getDeclaringClass() == Layers.class ? engine.layers() : engine, args);
                    if (List.of("activation", "productActivation").contains(method.getName())) {
                        Tensor s = (Tensor) args[args.length - 2];
                        double[] values = engine.read(s);
                        values[0]++;
                        engine.write(s, values);
                    }
                    return result;
                });
    }
}
