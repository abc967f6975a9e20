package hypertransfer.engine.cuda.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.engine.Dims;
import hypertransfer.engine.cuda.driver.Launch;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class FlashTest {
    @Test
    void attentionFitsIntoSharedMemory() {
        for (int D : new int[] {32, 64, 128}) {
            Dims dims = new Dims(3, 130, 2 * D, D, 9);
            for (int stages = 1; stages <= 2; stages++) {
                int most = stages == 1 ? 99 * 1024 : 160 * 1024; // the least that cards with 8.0 and later allow
                Flash flash = Flash.flash(dims, stages);
                fits(flash, most);
                assertThat(flash.launch(flash.forward()))
                        .isEqualTo(new Launch(2, 2, 3, 128, 1, flash.forward().bytes()));
            }
            int most = 227 * 1024; // what cards with 9.0 allow
            Flash hopper = Flash.hopper(dims);
            fits(hopper, most);
            assertThat(hopper.launch(hopper.key()))
                    .isEqualTo(new Launch(2, 2, 3, 256, 1, hopper.key().bytes()));
        }
    }

    private static void fits(Flash flash, int most) {
        assertThat(flash.tiles()).allMatch(tile -> tile.bytes() <= most);
    }

    private static Optional<String> file(Dims dims, int target, int shared) {
        return Flash.of(dims, Precision.BF16, target, shared).map(Flash::file);
    }

    @Test
    void attentionTakesTheKernelsThatTheCardRuns() {
        Dims wide = new Dims(3, 130, 256, 128, 9),
                narrow = new Dims(3, 130, 64, 32, 9),
                odd = new Dims(2, 13, 18, 6, 37);
        assertThat(file(wide, 90, 227 * 1024)).hasValue("hopper");
        assertThat(file(wide, 90, 163 * 1024)).hasValue("flash");
        assertThat(file(wide, 100, 227 * 1024)).hasValue("flash");
        assertThat(file(narrow, 90, 227 * 1024)).hasValue("flash");
        assertThat(Flash.of(wide, Precision.BF16, 86, 99 * 1024))
                .map(Flash::stages)
                .hasValue(1);
        assertThat(Flash.of(wide, Precision.FLOAT32, 90, 227 * 1024)).isEmpty();
        assertThat(file(odd, 90, 227 * 1024)).isEmpty();
        Dims shared = new Dims(3, 130, 256, 128, 9, 1, 1024, 130), window = new Dims(3, 130, 256, 128, 9, 2, 1024, 129);
        assertThat(file(shared, 90, 227 * 1024)).isEmpty();
        assertThat(file(window, 90, 227 * 1024)).isEmpty();
    }

    @Test
    void wholeBlocksNeedWholeTilesAndAnAmountToKeepThatIsNotTooLarge() {
        Dims fits = new Dims(64, 1024, 768, 128, 50304), single = new Dims(1, 128, 128, 128, 9);
        assertThat(Flash.hopper(fits).whole()).isTrue();
        assertThat(Flash.hopper(fits).files()).containsExactly("hopper", "blocks");
        assertThat(Flash.hopper(single).whole()).isTrue();
        assertThat(Flash.flash(fits, 2).whole()).isFalse();
        assertThat(Flash.hopper(new Dims(64, 1024, 768, 64, 50304)).files()).containsExactly("hopper");
        assertThat(Flash.hopper(new Dims(64, 1000, 768, 128, 50304)).whole()).isFalse();
        assertThat(Flash.hopper(new Dims(16, 8192, 2048, 128, 50304)).whole()).isFalse();
        assertThat(file(fits, 90, Blocks.BYTES - 1)).hasValue("flash");
    }

    @Test
    void whatItKeepsIsTheLowerTriangleAndTwoNumbersPerRow() {
        Dims gpt2 = new Dims(64, 1024, 768, 128, 50304);
        assertThat(Blocks.scratch(gpt2, Precision.BF16)).isEqualTo(384L * 136 * 8192 + 384L * 1024 * 8);
        assertThat(Blocks.scratch(gpt2, Precision.FLOAT32)).isZero();
        assertThat(Blocks.scratch(new Dims(3, 130, 256, 128, 9), Precision.BF16))
                .isZero();
        assertThat(Blocks.scratch(new Dims(3, 128, 256, 128, 9, 1, 1024, 128), Precision.BF16))
                .as("shared keys")
                .isZero();
    }

    @Test
    void everyMultiprocessorTakesPairsOfBlocks() {
        assertThat(Blocks.launch(new Dims(64, 1024, 768, 128, 9), 132).x()).isEqualTo(132);
        assertThat(Blocks.launch(new Dims(1, 384, 128, 128, 9), 132).x()).isEqualTo(2);
        assertThat(Blocks.launch(new Dims(1, 128, 128, 128, 9), 132).x()).isEqualTo(1);
    }
}
