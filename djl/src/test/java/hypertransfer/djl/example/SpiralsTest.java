package hypertransfer.djl.example;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.translate.TranslateException;
import hypertransfer.djl.Torch;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The example learns with our optimizer, and the README shows the example that is compiled. */
@Torch
class SpiralsTest {
    @Test
    void learns() throws IOException, TranslateException {
        assertThat(Spirals.train(Spirals::after).get("validate_Accuracy")).isGreaterThan(0.95f);
    }

    @Test
    void theReadmeShowsIt() throws IOException {
        String source = Files.readString(Path.of("src/test/java/hypertransfer/djl/example/Spirals.java"));
        String readme = Files.readString(Path.of("README.md"));
        List<String> shown = readme.substring(readme.indexOf("```java") + 7)
                .lines()
                .skip(1)
                .takeWhile(line -> !line.startsWith("```"))
                .map(String::strip)
                .filter(line -> !line.isEmpty())
                .toList();
        assertThat(shown)
                .hasSizeGreaterThan(10)
                .allSatisfy(line -> assertThat(source).contains(line));
    }
}
