package hypertransfer.engine.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import hypertransfer.engine.Dims;
import hypertransfer.engine.EngineException;
import hypertransfer.engine.cuda.driver.Launch;
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
        assertThatThrownBy(() -> new Launch(1, 70000, 1, 32, 1, 0)).isInstanceOf(EngineException.class);
        assertThatThrownBy(() -> new Launch(1, 1, 1, 1024, 2, 0)).isInstanceOf(EngineException.class);
        assertThatThrownBy(() -> new Launch(0, 1, 1, 32, 1, 0)).isInstanceOf(EngineException.class);
    }

    @Test
    void attentionFitsIntoSharedMemory() {
        for (int D : new int[] {32, 64, 128}) {
            Dims dims = new Dims(3, 130, 2 * D, D, 9);
            for (int stages = 1; stages <= 2; stages++) {
                int most = stages == 1 ? 99 * 1024 : 160 * 1024; // the least that cards with 8.0 and later allow
                Flash flash = Flash.flash(dims, stages);
                assertThat(flash.forward().bytes()).isLessThanOrEqualTo(most);
                assertThat(flash.key().bytes()).isLessThanOrEqualTo(most);
                assertThat(flash.query().bytes()).isLessThanOrEqualTo(most);
                assertThat(flash.launch(flash.forward()))
                        .isEqualTo(new Launch(2, 2, 3, 128, 1, flash.forward().bytes()));
            }
            int most = 227 * 1024; // what cards with 9.0 allow
            Flash hopper = Flash.hopper(dims);
            assertThat(hopper.forward().bytes()).isLessThanOrEqualTo(most);
            assertThat(hopper.key().bytes()).isLessThanOrEqualTo(most);
            assertThat(hopper.query().bytes()).isLessThanOrEqualTo(most);
            assertThat(hopper.launch(hopper.key()))
                    .isEqualTo(new Launch(2, 2, 3, 256, 1, hopper.key().bytes()));
        }
    }

    @Test
    void attentionTakesTheKernelsThatTheCardRuns() {
        Dims wide = new Dims(3, 130, 256, 128, 9),
                narrow = new Dims(3, 130, 64, 32, 9),
                odd = new Dims(2, 13, 18, 6, 37);
        assertThat(Flash.of(wide, Precision.BF16, 90, 227 * 1024))
                .map(Flash::file)
                .hasValue("hopper");
        assertThat(Flash.of(wide, Precision.BF16, 90, 163 * 1024))
                .map(Flash::file)
                .hasValue("flash");
        assertThat(Flash.of(wide, Precision.BF16, 100, 227 * 1024))
                .map(Flash::file)
                .hasValue("flash");
        assertThat(Flash.of(narrow, Precision.BF16, 90, 227 * 1024))
                .map(Flash::file)
                .hasValue("flash");
        assertThat(Flash.of(wide, Precision.BF16, 86, 99 * 1024))
                .map(Flash::stages)
                .hasValue(1);
        assertThat(Flash.of(wide, Precision.FLOAT32, 90, 227 * 1024)).isEmpty();
        assertThat(Flash.of(odd, Precision.BF16, 90, 227 * 1024)).isEmpty();
        Dims shared = new Dims(3, 130, 256, 128, 9, 1, 1024, 130), window = new Dims(3, 130, 256, 128, 9, 2, 1024, 129);
        assertThat(Flash.of(shared, Precision.BF16, 90, 227 * 1024)).isEmpty();
        assertThat(Flash.of(window, Precision.BF16, 90, 227 * 1024)).isEmpty();
    }

    @Test
    void aListsWordsLieAsTheKernelReadsThem() {
        long[] words = Lists.words(List.of(new Lists.Entry(1, 2, 3, 4, 0.5, 0.25)), 7);
        assertThat(words)
                .hasSize(6 * Geometry.MAX_LIST + 1)
                .startsWith(1, 2, 3, 4)
                .endsWith(7);
        assertThat(Double.longBitsToDouble(words[4])).isEqualTo(0.5);
        assertThat(Double.longBitsToDouble(words[5])).isEqualTo(0.25);
        assertThat(words.length * 8 + 5 * 8).as("bytes that a launch may carry").isLessThan(4096);
    }

    @Test
    void positionsAreSortedByToken() {
        Random random = new Random(5);
        int[] tokens = random.ints(1000, 0, 50).map(t -> t * t % 50).toArray();
        Feed.Sorted sorted = Feed.Sorted.of(tokens, 50);
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
