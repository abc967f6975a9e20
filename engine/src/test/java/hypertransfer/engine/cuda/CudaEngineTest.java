package hypertransfer.engine.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hypertransfer.engine.Checked;
import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.proof.Comparison;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class CudaEngineTest {
    /** With -Dht.engine=cuda a card is demanded, so that a green run cannot have skipped it. */
    private static void needsCard() {
        Optional<String> missing = CudaEngine.missing();
        if ("cuda".equals(System.getProperty("ht.engine"))) {
            assertThat(missing).isEmpty();
        }
        assumeTrue(missing.isEmpty(), () -> "the cuda engine was not tested: " + missing.get());
    }

    @Test
    void saysInASentenceWhatIsMissing() {
        CudaEngine.missing()
                .ifPresent(sentence -> assertThat(sentence).contains(";").doesNotContain("\n"));
    }

    @ParameterizedTest
    @EnumSource
    void everyOperationAgreesWithTheReference(Precision precision) {
        needsCard();
        for (Dims dims : Comparison.SIZES) {
            try (Engine engine = new Checked(new CudaEngine(dims, precision))) {
                assertThat(Comparison.run(engine, 1))
                        .allSatisfy(result -> assertThat(result.error())
                                .as("%s of %s, %s", result.tensor(), result.operation(), dims)
                                .isLessThanOrEqualTo(
                                        precision == Precision.BF16
                                                        || result.operation().endsWith("bf16")
                                                ? 2e-2
                                                : 1e-5));
            }
        }
    }
}
