package hypertransfer.train.golden;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import hypertransfer.core.Refusal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Golden directories that are missing, cut off or of another format. */
class GoldenTest {
    @TempDir
    Path directory;

    private Path json;
    private Path tensors;

    @BeforeEach
    void copy() throws IOException {
        json = Files.copy(ConformanceTest.directory().resolve("M2.json"), directory.resolve("M2.json"));
        tensors =
                Files.copy(ConformanceTest.directory().resolve("M2.safetensors"), directory.resolve("M2.safetensors"));
    }

    @Test
    void aDirectoryThatIsMissingOrEmpty() throws IOException {
        refuses(directory.resolve("absent"), "absent is not a directory");
        refuses(Files.createDirectory(directory.resolve("empty")), "holds no .json file");
    }

    @Test
    void aJsonFileCutOff() throws IOException {
        byte[] bytes = Files.readAllBytes(json);
        for (int length : new int[] {0, 1, 100, bytes.length / 2, bytes.length - 3}) {
            Files.write(json, Arrays.copyOf(bytes, length));
            refuses(directory, "M2.json is not a golden trajectory, or is cut off");
        }
    }

    @Test
    void jsonOfAnotherFormat() throws IOException {
        Files.writeString(json, "{\"hello\": 1}");
        refuses(directory, "M2.json is not a golden trajectory");
        String text = Files.readString(ConformanceTest.directory().resolve("M2.json"));
        Files.writeString(json, text.replace("\"steps\": 24", "\"steps\": 25"));
        refuses(directory, "does not have 25 numbers a series");
    }

    @Test
    void tensorsMissingOrCutOff() throws IOException {
        byte[] bytes = Files.readAllBytes(tensors);
        for (int length : new int[] {0, 7, 8, 300, bytes.length / 2, bytes.length - 1}) {
            Files.write(tensors, Arrays.copyOf(bytes, length));
            refuses(directory, "M2.safetensors");
        }
        Files.delete(tensors);
        refuses(directory, "there is no such file");
    }

    @Test
    void tensorsOfAnotherFormat() throws IOException {
        Files.writeString(tensors, "PK this is not a safetensors file at all, but long enough to have a header");
        refuses(directory, "is not a safetensors file");
    }

    private static void refuses(Path directory, String reason) {
        assertThatThrownBy(() -> Golden.readAll(directory))
                .isInstanceOf(Refusal.class)
                .hasMessageContaining(reason);
    }
}
