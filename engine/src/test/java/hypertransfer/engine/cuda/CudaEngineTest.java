package hypertransfer.engine.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Format;
import hypertransfer.engine.cuda.kernel.Precision;
import hypertransfer.engine.door.Checked;
import hypertransfer.engine.proof.Comparison;
import hypertransfer.engine.proof.Result.Tolerance;
import hypertransfer.engine.proof.Twice;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class CudaEngineTest {
    /** With -Dht.engine=cuda a card is demanded, so that a green run cannot have skipped it. */
    private static void needsCard() {
        String missing = CudaEngine.missing();
        if ("cuda".equals(System.getProperty("ht.engine"))) {
            assertThat(missing).isEmpty();
        }
        assumeTrue(missing.isEmpty(), () -> "the cuda engine was not tested: " + missing);
    }

    @Test
    void saysInASentenceWhatIsMissing() {
        assertThat(CudaEngine.missing()).matches("|[^\n]*;[^\n]*");
    }

    private static Format format(Precision precision) {
        return switch (precision) {
            case E4M3 -> Format.FP8;
            case BF16 -> Format.BF16;
            default -> Format.FLOAT32;
        };
    }

    @ParameterizedTest
    @EnumSource(names = {"FLOAT32", "BF16", "E4M3"})
    void everyOperationAgreesWithTheReference(Precision precision) {
        needsCard();
        Tolerance tolerance = Tolerance.of(format(precision));
        for (Dims dims : Comparison.sizes(format(precision))) {
            assertThat(Comparison.run(d -> Checked.of(new CudaEngine(d, precision, 0)), dims))
                    .as("%s", dims)
                    .allMatch(tolerance::accepts);
        }
    }

    /** {@code DryRunTest.noKernelIsWithoutATestOfItsBits} holds that these are all kernels. */
    @ParameterizedTest
    @EnumSource(names = {"FLOAT32", "BF16", "E4M3"})
    void everyOperationHasTheSameBitsAgain(Precision precision) {
        needsCard();
        for (Dims dims : Comparison.sizes(format(precision))) {
            assertThat(Twice.run(d -> Checked.of(new CudaEngine(d, precision, 0)), dims))
                    .as("%s", dims)
                    .allMatch(result -> result.error() == 0);
        }
    }
}
