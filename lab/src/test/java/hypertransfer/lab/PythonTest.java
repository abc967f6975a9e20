package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Holds the Python package to {@code ht rates}: the package's tests read the same file. */
class PythonTest {
    static Stream<JsonNode> answers() throws Exception {
        String text = Files.readString(Path.of("../python/tests/rates.json"));
        return JsonMapper.shared().readTree(text).valueStream();
    }

    @ParameterizedTest
    @MethodSource("answers")
    void ratesOfThePythonPackageAreThese(JsonNode wanted) {
        JsonNode got =
                new Ht().json("rates " + wanted.get("arguments").asString().replace("runs/", "../runs/"));
        for (String name : List.of("rate", "final_ratio", "error")) {
            assertThat(got.get(name).asDouble())
                    .as(name)
                    .isCloseTo(wanted.get(name).asDouble(), within(1e-12));
        }
        assertThat(got.get("kinds").size()).isEqualTo(wanted.get("kinds").size());
        for (int i = 0; i < got.get("kinds").size(); i++) {
            JsonNode kind = got.get("kinds").get(i), other = wanted.get("kinds").get(i);
            assertThat(kind.get("kind").asString()).isEqualTo(other.get(0).asString());
            List<String> numbers = List.of("effective_peak", "end_to_peak", "rate", "final_ratio", "error");
            for (int k = 0; k < numbers.size(); k++) {
                assertThat(kind.get(numbers.get(k)).asDouble())
                        .as(numbers.get(k))
                        .isCloseTo(other.get(k + 1).asDouble(), within(1e-12));
            }
        }
    }
}
