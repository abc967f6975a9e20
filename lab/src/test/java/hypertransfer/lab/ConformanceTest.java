package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Consumer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

class ConformanceTest {
    private static final Path GOLDEN = Path.of("../train/src/test/resources/golden");
    private static final JsonMapper JSON = JsonMapper.shared();

    @TempDir
    Path directory;

    private final Ht ht = new Ht();

    /** Only one case, so that the command's own behaviour is what takes the time. */
    @BeforeEach
    void oneCase() throws IOException {
        golden(directory);
    }

    static void golden(Path directory) throws IOException {
        write(directory, golden -> {});
        Files.copy(GOLDEN.resolve("M1.safetensors"), directory.resolve("M1.safetensors"));
    }

    private static void write(Path directory, Consumer<ObjectNode> change) {
        ObjectNode golden = (ObjectNode) JSON.readTree(GOLDEN.resolve("M1.json"));
        ArrayNode one = JSON.createArrayNode().add(golden.get("cases").get(2));
        golden.set("cases", one);
        change.accept(golden);
        JSON.writeValue(directory.resolve("M1.json"), golden);
    }

    @Test
    void printsALineACaseAndTheJsonLineLast() {
        JsonNode summary = ht.json("conformance", directory, "--engine reference");
        assertThat(ht.fine("conformance", directory, "--engine reference"))
                .hasLineCount(2)
                .startsWith("ok")
                .contains("M1 muon hypertransfer", "loss", "gradient", "norm", "rate");
        assertThat(summary.propertyNames())
                .containsExactly("engine cases max_loss_error max_gradient_error max_norm_error max_rate_error passed"
                        .split(" "));
        assertThat(summary.get("engine").asString()).isEqualTo("reference");
        assertThat(summary.get("cases").asInt()).isEqualTo(1);
        assertThat(summary.get("passed").asBoolean()).isTrue();
        assertThat(summary.get("max_loss_error").asDouble()).isLessThan(1e-9);
    }

    @Test
    void aFailingCaseNamesStepMatrixAndBothValues() {
        write(
                directory,
                golden -> ((ArrayNode) golden.at("/cases/0/matrices/blocks.1.mlp.fc.weight/target_norm")).set(5, 12.5));
        assertThat(ht.run("conformance", directory, "--engine reference")).isEqualTo(1);
        assertThat(ht.out())
                .contains("FAILED", "step 5, target norm of blocks.1.mlp.fc.weight: is ", "should be 12.5")
                .contains("some do not agree");
    }

    @Test
    void badInputIsOneSentence() throws IOException {
        assertThat(ht.refused("conformance", directory.resolve("absent"))).contains("is not a directory");
        assertThat(ht.refused("conformance", directory, "--engine abacus")).contains("unknown engine 'abacus'");
        assertThat(ht.refused("conformance", directory, "--engine cpu --precision bf16")) // was ignored
                .contains("engine cpu has no bf16; omit --precision");
        assertThat(ht.refused("conformance", directory, "--fast")).contains("nknown option");
        Files.writeString(directory.resolve("M1.json"), "{\"network\":");
        assertThat(ht.refused("conformance", directory)).contains("is not a golden trajectory");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            mode  | hyperdrive | unknown mode 'hyperdrive'
            decay | -0.1       | weight decay is -0.1
            rate  | -1         | peak rate is -1.0
            rate  | 20         | blocks.0.attn.q.weight at step 0: learning rate 20.0
            """)
    void aBadCaseIsNamed(String key, String value, String problem) {
        write(
                directory,
                golden -> ((ObjectNode) golden.at("/cases/0"))
                        .set(key, key.equals("mode") ? JSON.valueToTree(value) : JSON.readTree(value)));
        assertThat(ht.refused("conformance", directory)).startsWith("ht: ").contains(problem);
    }
}
