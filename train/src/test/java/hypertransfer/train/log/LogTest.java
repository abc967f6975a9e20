package hypertransfer.train.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import hypertransfer.core.Refusal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LogTest {
    @TempDir
    Path folder;

    private Path file;

    @BeforeEach
    void write() {
        file = folder.resolve(Run.METRICS);
        try (Log log = new Log(file)) {
            for (int step = 0; step < 6; step++) {
                log.append(new Line.Validation(step, 1));
                log.append(new Line.Training(step, 1, 1, 1, 1, 1));
            }
            log.force();
        }
    }

    private Optional<String> cut(int step, boolean validated) {
        return Log.cut(
                file,
                new Run(folder).metrics(),
                line -> line.step() < step || line.step() == step && validated && line instanceof Line.Validation);
    }

    @Test
    void aCutOnlyShortensTheFile() throws IOException {
        String all = Files.readString(file);
        Object identity = identity();
        assertThat(cut(4, true)).isEmpty();
        assertThat(identity()).as("the same file").isEqualTo(identity);
        assertThat(all).startsWith(Files.readString(file));
        assertThat(Files.readAllLines(file)).hasSize(9).last().isEqualTo("{\"step\":4,\"validation\":1.0}");
        assertThat(cut(4, false)).isEmpty();
        assertThat(Files.readAllLines(file)).hasSize(8);
        assertThat(cut(0, false)).isEmpty();
        assertThat(file).isEmptyFile();
        assertThat(folder.resolve("metrics.jsonl.damaged")).doesNotExist();
    }

    private Object identity() throws IOException {
        return Files.readAttributes(file, BasicFileAttributes.class).fileKey();
    }

    @Test
    void damagedLinesAreMovedAsideAndTold() throws IOException {
        String good = Files.readString(file);
        String bad = good.replace("{\"step\":2,\"validation\"", "{\"step\":2,\"validatio")
                .replace("{\"step\":5,\"validation\"", "{\"step\":5,\"validatio");
        Files.writeString(file, bad + "{\"step\":6,\"lo");
        assertThat(cut(5, false))
                .hasValueSatisfying(warning -> assertThat(warning)
                        .contains("metrics.jsonl has 2 damaged lines", "line 5 is not JSON", "metrics.jsonl.damaged"));
        assertThat(Files.readString(file))
                .isEqualTo(good.lines()
                        .limit(10)
                        .filter(line -> !line.startsWith("{\"step\":2,\"val"))
                        .map(line -> line + "\n")
                        .reduce("", String::concat));
        assertThat(folder.resolve("metrics.jsonl.damaged"))
                .content()
                .startsWith("{\"step\":2,\"validatio:1.0}")
                .hasLineCount(1);
    }

    @Test
    void aFileRemovedUnderTheRunIsNoticed() throws IOException {
        try (Log log = new Log(file)) {
            log.force();
            Files.delete(file);
            assertThatThrownBy(log::force).isInstanceOf(Refusal.class).hasMessageContaining("was removed or replaced");
            Files.writeString(file, "");
            assertThatThrownBy(log::force).isInstanceOf(Refusal.class).hasMessageContaining("was removed or replaced");
        }
    }
}
