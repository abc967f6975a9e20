package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
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

    /** What {@code EffectiveRates} of the package writes is what {@code ht effective} reads, and both say the same. */
    @Test
    void theFileOfThePackageIsRead(@TempDir Path dir) throws Exception {
        Path csv = dir.resolve("norms.csv"), said = dir.resolve("said.txt");
        String script = """
                import torch
                from hypertransfer import EffectiveRates
                torch.manual_seed(0)
                model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 4)).double()
                optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.1)
                watch = EffectiveRates(model, optimizer, "%s", every=1)
                for _ in range(20):
                    optimizer.zero_grad()
                    model(torch.ones(2, 6).double()).square().mean().backward()
                    optimizer.step()
                print(max(row.effective for row in watch.rows))
                watch.close(quiet=True)
                """.formatted(csv);
        ProcessBuilder python = new ProcessBuilder("/usr/bin/python3", "-c", script)
                .redirectErrorStream(true)
                .redirectOutput(said.toFile());
        python.environment().put("PYTHONPATH", Path.of("../python").toRealPath().toString());
        boolean ran = Files.isExecutable(Path.of("/usr/bin/python3"))
                && python.start().waitFor() == 0;
        String text = Files.exists(said) ? Files.readString(said).strip() : "no Python here";
        assumeFalse(text.contains("No module named 'torch'") || text.startsWith("no Python"), text);
        assertThat(ran).as(text).isTrue();
        double largest = new Ht()
                .json("effective", csv).path("matrices").findValues("peak_effective").stream()
                        .mapToDouble(JsonNode::asDouble)
                        .max()
                        .orElseThrow();
        assertThat(largest).isCloseTo(Double.parseDouble(text), within(1e-12));
    }
}
