package hypertransfer.train.golden;

import static hypertransfer.train.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.engine.Format;
import hypertransfer.engine.provider.Engines;
import hypertransfer.train.golden.Errors.Tolerance;
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
    void jsonCutOffOrOfAnotherFormat() throws IOException {
        byte[] bytes = Files.readAllBytes(json);
        for (int length : new int[] {0, 1, 100, bytes.length / 2, bytes.length - 3}) {
            Files.write(json, Arrays.copyOf(bytes, length));
            refuses(directory, "M2.json is not a golden trajectory");
        }
        Files.writeString(json, "{\"hello\": 1}");
        refuses(directory, "M2.json is not a golden trajectory");
        String text = Files.readString(ConformanceTest.directory().resolve("M2.json"));
        Files.writeString(json, text.replace("\"steps\": 24", "\"steps\": 25"));
        refuses(directory, "does not have 25 numbers per series");
    }

    /** Each was a NullPointerException or an index out of bounds; a file without cases had "passed". */
    @Test
    void nullsAndOddSizes() throws IOException {
        changed("(?s).*", "null");
        changed("\"network\": \"M2\"", "\"network\": null");
        changed("\"network\": \"M2\"", "\"network\": 1");
        changed("(?s)\"cases\": .*", "\"cases\": []}");
        changed("(?s)\"cases\": .*", "\"cases\": null}");
        changed("(?s)\"cases\": .*", "\"cases\": [null]}");
        changed("\"layers\": 2", "\"layers\": -1");
        changed("\"layers\": 2", "\"layers\": null");
        changed("\"layers\": 2", "\"layers\": 2, \"layers\": 2");
        changed("\"direction\": \"muon\"", "\"direction\": null");
        changed("\"losses\": \\[[^,]*", "\"losses\": [null");
        changed("\"norm\": \\[[^,]*", "\"norm\": [null");
        changed("\"norm\": \\[[^\\]]*\\]", "\"norm\": null");
    }

    private void changed(String from, String to) throws IOException {
        String text = Files.readString(ConformanceTest.directory().resolve("M2.json"));
        String changed = text.replaceFirst(from, to);
        assertThat(changed).as(from).isNotEqualTo(text);
        Files.writeString(json, changed);
        refuses(directory, "M2.json");
    }

    @Test
    void anotherModeFails() throws IOException {
        Files.writeString(json, Files.readString(json).replaceFirst("\"mode\": \"base\"", "\"mode\": \"hyperball\""));
        Golden golden = Golden.readAll(directory).getFirst();
        Errors errors = new Replay(golden, dims -> Engines.open("reference", dims), Tolerance.of(Format.FLOAT64))
                .run(golden.sizes().cases().getFirst());
        assertThat(errors.passed()).isFalse();
        assertThat(errors.failures()).hasSizeGreaterThan(1).last().asString().startsWith("and ");
    }

    @Test
    void tensorsCutOffMissingOrOfAnotherFormat() throws IOException {
        byte[] bytes = Files.readAllBytes(tensors);
        for (int length : new int[] {0, 7, 8, 300, bytes.length / 2, bytes.length - 1}) {
            Files.write(tensors, Arrays.copyOf(bytes, length));
            refuses(directory, "M2.safetensors");
        }
        Files.delete(tensors);
        refuses(directory, "there is no such file");
        Files.writeString(tensors, "PK this is not a safetensors file at all, but long enough to have a header");
        refuses(directory, "is not a safetensors file");
    }

    private static void refuses(Path directory, String reason) {
        assertRefused(() -> Golden.readAll(directory), reason);
    }
}
