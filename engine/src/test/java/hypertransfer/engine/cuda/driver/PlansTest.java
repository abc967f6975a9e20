package hypertransfer.engine.cuda.driver;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PlansTest {
    private static final Product PRODUCT = Product.of(true, false, 3, 4, 5, Precision.BF16, Precision.FLOAT32, 256);

    @TempDir
    private Path folder;

    @Test
    void aChoiceIsFoundAgainForTheSameCardAndRelease() {
        byte[] algorithm = new byte[64];
        algorithm[7] = -3;
        assertThat(new Plans(new Cache(folder), "NVIDIA H200", 130000).keep(PRODUCT, algorithm))
                .isTrue();
        assertThat(new Plans(new Cache(folder), "NVIDIA H200", 130000).find(PRODUCT))
                .hasValue(algorithm);
        assertThat(new Plans(new Cache(folder), "NVIDIA H200", 130100).find(PRODUCT))
                .isEmpty();
        assertThat(new Plans(new Cache(folder), "NVIDIA A100", 130000).find(PRODUCT))
                .isEmpty();
    }

    @Test
    void aFileThatIsNotOursIsNoChoice() throws IOException {
        Files.writeString(folder.resolve("plans-card-1.txt"), "what is this\n" + PRODUCT.key() + " 00\n");
        assertThat(new Plans(new Cache(folder), "card", 1).find(PRODUCT)).isEmpty();
    }

    @Test
    void whatCannotBeKeptIsSaid() throws IOException {
        Path file = Files.createFile(folder.resolve("file"));
        assertThat(new Plans(new Cache(file.resolve("below")), "card", 1).keep(PRODUCT, new byte[64]))
                .isFalse();
    }

    @Test
    void theCacheIsTheUsers() {
        assertThat(Cache.of(Map.of("HOME", "/home/ada")).folder())
                .isEqualTo(Path.of("/home/ada/.cache/hypertransfer/cuda"));
        assertThat(Cache.of(Map.of("HOME", "/home/ada", "XDG_CACHE_HOME", "/fast"))
                        .folder())
                .isEqualTo(Path.of("/fast/hypertransfer/cuda"));
    }
}
