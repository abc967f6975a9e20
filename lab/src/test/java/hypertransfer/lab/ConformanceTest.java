package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.train.file.SafeTensors;
import hypertransfer.train.file.SafeTensorsWriter;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

class ConformanceTest {
    private static final Path GOLDEN = Path.of("../train/src/test/resources/golden");
    private static final JsonMapper JSON = JsonMapper.shared();

    @TempDir
    Path directory;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(String... args) {
        return Main.run(new PrintWriter(out), new PrintWriter(err), false, args);
    }

    /** Only one case, so that the command's own behaviour is what takes the time. */
    @BeforeEach
    void oneCase() throws IOException {
        write(node -> node);
        Files.copy(GOLDEN.resolve("M1.safetensors"), directory.resolve("M1.safetensors"));
    }

    private void write(java.util.function.UnaryOperator<ObjectNode> change) {
        ObjectNode golden = (ObjectNode) JSON.readTree(GOLDEN.resolve("M1.json"));
        ArrayNode one = JSON.createArrayNode().add(golden.get("cases").get(2));
        golden.set("cases", one);
        JSON.writeValue(directory.resolve("M1.json"), change.apply(golden));
    }

    @Test
    void printsALineACaseAndTheJsonLineLast() {
        assertThat(run("conformance", directory.toString(), "--engine", "reference"))
                .isZero();
        String[] lines = out.toString().split("\\R");
        assertThat(lines).hasSize(2);
        assertThat(lines[0]).startsWith("ok").contains("M1 muon hypertransfer", "loss", "gradient", "norm", "rate");
        JsonNode summary = JSON.readTree(lines[1]);
        assertThat(summary.propertyNames())
                .containsExactly(
                        "engine",
                        "cases",
                        "max_loss_error",
                        "max_gradient_error",
                        "max_norm_error",
                        "max_rate_error",
                        "passed");
        assertThat(summary.get("engine").asString()).isEqualTo("reference");
        assertThat(summary.get("cases").asInt()).isEqualTo(1);
        assertThat(summary.get("passed").asBoolean()).isTrue();
        assertThat(summary.get("max_loss_error").asDouble()).isLessThan(1e-9);
    }

    @Test
    void aFailingCaseNamesStepMatrixAndBothValues() {
        write(golden -> {
            ArrayNode norms = (ArrayNode) golden.at("/cases/0/matrices/blocks.1.mlp.fc.weight/target_norm");
            norms.set(5, 12.5);
            return golden;
        });
        assertThat(run("conformance", directory.toString(), "--engine", "reference"))
                .isEqualTo(1);
        assertThat(out.toString())
                .contains("FAILED", "step 5, target norm of blocks.1.mlp.fc.weight: is ", "should be 12.5")
                .contains("\"passed\":false");
    }

    @Test
    void badInputIsOneSentence() throws IOException {
        refused("is not a directory", "conformance", directory.resolve("absent").toString());
        refused("unknown engine 'abacus'", "conformance", directory.toString(), "--engine", "abacus");
        refused("nknown option", "conformance", directory.toString(), "--fast");
        write(golden -> {
            ((ObjectNode) golden.at("/cases/0")).put("mode", "hyperdrive");
            return golden;
        });
        refused("unknown mode 'hyperdrive'", "conformance", directory.toString());
        write(golden -> {
            ((ObjectNode) golden.at("/cases/0")).put("decay", -0.1);
            return golden;
        });
        refused("weight decay is -0.1", "conformance", directory.toString());
        write(golden -> {
            ((ObjectNode) golden.at("/cases/0")).put("rate", -1);
            return golden;
        });
        refused("peak rate is -1.0", "conformance", directory.toString());
        write(golden -> {
            ((ObjectNode) golden.at("/cases/0")).put("rate", 20);
            return golden;
        });
        refused("blocks.0.attn.q.weight at step 0: learning rate 20.0", "conformance", directory.toString());
        Files.writeString(directory.resolve("M1.json"), "{\"network\":");
        refused("is not a golden trajectory", "conformance", directory.toString());
    }

    @Test
    void aZeroMatrixOnAHyperballIsNamed() {
        String zero = "weight:blocks.1.attn.o.weight";
        List<SafeTensorsWriter.Entry> entries = new ArrayList<>();
        try (SafeTensors tensors = SafeTensors.read(GOLDEN.resolve("M1.safetensors"))) {
            for (String name : tensors.names()) {
                double[] values = tensors.values(name);
                double[] written = name.equals(zero) ? new double[values.length] : values;
                entries.add(new SafeTensorsWriter.Entry(name, 1, values.length, Double.BYTES, () -> written));
            }
        }
        SafeTensorsWriter.write(directory.resolve("M1.safetensors"), entries, Map.of());
        refused("blocks.1.attn.o.weight at step 0", "conformance", directory.toString());
        assertThat(err.toString()).contains("0.0", "above zero", "train it with the plain Base optimizer");
    }

    @Test
    void aNaNRateOrDecayIsRefused() throws IOException {
        Path file = Files.writeString(directory.resolve("run.yaml"), "matrices: {rate: .nan}\n");
        refused("peak rate is NaN", "train", file.toString());
        refused(
                "weight decay is NaN",
                "train",
                file.toString(),
                "--set",
                "matrices.rate=0.01",
                "--set",
                "matrices.decay=.nan");
        refused("which would erase", "train", file.toString(), "--set", "matrices.rate=10");
    }

    private void refused(String reason, String... args) {
        err.getBuffer().setLength(0);
        assertThat(run(args)).isEqualTo(2);
        assertThat(err.toString()).startsWith("ht: ").contains(reason).doesNotContain("\tat ");
        assertThat(err.toString().lines()).hasSize(1);
    }
}
