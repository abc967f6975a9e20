package hypertransfer.engine.cuda;

import static hypertransfer.engine.Refused.refused;
import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.engine.cuda.driver.Launch;
import hypertransfer.engine.cuda.kernel.Geometry;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class LaunchTest {
    @Test
    void everyItemHasAThread() {
        assertThat(Launch.each(1, 256).x()).isEqualTo(1);
        assertThat(Launch.each(256, 256).x()).isEqualTo(1);
        assertThat(Launch.each(257, 256).x()).isEqualTo(2);
    }

    @Test
    void whatCudaCannotLaunchIsRefusedHere() {
        refused(() -> new Launch(1, 70000, 1, 32, 1, 0), "1 x 70000 x 1 blocks");
        refused(() -> new Launch(1, 1, 1, 1024, 2, 0), "1024 x 2 threads");
        refused(() -> new Launch(0, 1, 1, 32, 1, 0), "0 x 1 x 1 blocks");
    }

    @Test
    void aListsWordsLieAsTheKernelReadsThem() {
        long[] words = CudaMotion.words(List.of(new CudaMotion.Entry(1, 2, 3, 4, 0.5, 0.25, 6)), 7);
        assertThat(words)
                .hasSize(7 * Geometry.MAX_LIST + 1)
                .startsWith(1, 2, 3, 4)
                .endsWith(7);
        assertThat(Double.longBitsToDouble(words[4])).isEqualTo(0.5);
        assertThat(Double.longBitsToDouble(words[5])).isEqualTo(0.25);
        assertThat(words[6]).isEqualTo(6);
        assertThat(words.length * 8 + 5 * 8).as("bytes that a launch may carry").isLessThan(4096);
    }

    @Test
    void positionsAreSortedByToken() {
        Random random = new Random(5);
        int[] tokens = random.ints(1000, 0, 50).map(t -> t * t % 50).toArray();
        TokenUpload.Sorted sorted = TokenUpload.Sorted.of(tokens, 50);
        Integer[] expected = new Integer[tokens.length];
        Arrays.setAll(expected, i -> i);
        Arrays.sort(expected, (a, b) -> tokens[a] != tokens[b] ? tokens[a] - tokens[b] : a - b);
        assertThat(Arrays.stream(sorted.order()).boxed().toArray()).isEqualTo(expected);
        assertThat(sorted.starts())
                .hasSize((int) Arrays.stream(tokens).distinct().count() + 1);
        for (int i = 0; i + 1 < sorted.starts().length; i++) {
            int from = sorted.starts()[i], to = sorted.starts()[i + 1];
            assertThat(Arrays.stream(sorted.order(), from, to)
                            .map(n -> tokens[n])
                            .distinct()
                            .count())
                    .isEqualTo(1);
        }
    }

    @Test
    void productsKnowTheirAlignment() {
        assertThat(Product.alignment(512, 1024, 4096)).isEqualTo(256);
        assertThat(Product.alignment(512, 1024 + 32, 4096)).isEqualTo(32);
        assertThat(Product.alignment(2)).isEqualTo(2);
    }
}
