package hypertransfer.train.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import hypertransfer.core.Diverged;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.log.FailureKind;
import hypertransfer.train.log.Run;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What happens when a loss runs away. */
class DivergenceTest {
    private final Tiny tiny;

    DivergenceTest(@TempDir Path dir) {
        tiny = new Tiny(dir);
    }

    /** A run of these settings diverges, and says so with such a sentence. */
    private Run diverged(String sentence, String... settings) {
        assertThatThrownBy(() -> tiny.train("run", tiny.configuration(List.of("engine=cpu"), settings)))
                .isInstanceOf(Diverged.class)
                .hasMessageMatching(sentence);
        Run run = new Run(tiny.path("run"));
        assertThat(run.status().state().label()).isEqualTo("failed");
        assertThat(run.status().kind()).isEqualTo(FailureKind.DIVERGED);
        return run;
    }

    /** The hidden matrices were blamed for AdamW's rate. */
    @Test
    void theRateThatDidItIsNamed() {
        diverged(
                ".* lower the rate of its group in matrices.groups \\(9\\.0\\) and .*",
                "matrices.groups.fc|proj.rate=9",
                "adamw.rate=5",
                "adamw.warmup=0.9",
                "stop_above=4");
    }

    @Test
    void aLossAboveTheLimitNamesStepAndMatrix() {
        // the loss starts at the logarithm of the vocabulary and is below this limit until AdamW's rate is huge
        String[] settings = {"adamw.rate=5", "adamw.warmup=0.9", "checkpoint.every=1", "stop_above=4"};
        Run run = diverged(
                "the loss is \\d\\.\\d{4} at step \\d+, above 4.0000: the run has diverged; the largest effective"
                        + " rate of hidden matrices is 0?[\\d.]{6,9}, of blocks\\.0\\.\\S+\\.weight, and AdamW's rate"
                        + " for all else [\\d.]+; lower adamw\\.rate \\(5\\.0\\) and start again, .*",
                settings);
        assertThat(run.status().message()).contains("diverged");
        assertThat(Tiny.curves(run.directory()).losses())
                .as("no line for the step that failed")
                .hasSize(run.status().step());
        assertThat(run.checkpoints()).isNotEmpty();
        tiny.resume(
                "run", ConfigurationFile.with(tiny.configuration(List.of("engine=cpu"), settings), "stop_above=1000"));
        assertThat(run.status().state().label()).isEqualTo("finished");
        assertThat(Tiny.curves(run.directory()).losses()).hasSize(40);
    }

    @ParameterizedTest
    @CsvSource(delimiter = ';', textBlock = """
            # without epsilon, tokens that were never seen have the update 0/0
            embed.weight at step 1: its norm is NaN.*; model.vocab=64 adamw.epsilon=0 checkpoint.every=1
            the validation loss is .*;                 stop_above=1
            # it finished with a loss of exactly ln V: squares beyond float32 become 0 in a norm's factor
            .*;                                        steps=1 adamw.rate=1e25 adamw.decay=0
            blocks\\.0\\.\\S+ at step \\d+: .*the (training|run) has diverged.*; matrices.direction=adam matrices.epsilon=0 matrices.beta2=0 matrices.beta1=0 adamw.rate=0 adamw.decay=0 matrices.rate=1e300 matrices.decay=0 matrices.schedule=constant matrices.warmup=0.3 checkpoint.every=1 network=M2
            """)
    void whatDivergedIsNamedAndNeverSaved(String sentence, String settings) {
        assertThat(diverged(sentence, settings.split(" ")).checkpoints()).isEmpty();
    }

    @Test
    void aValidationLossThatIsNoNumberIsADivergence() {
        // without epsilon, the first step makes tokens that it has not seen 0/0, and the validation sees them
        Run run = diverged("the validation loss is NaN before step 1.*", "adamw.epsilon=0", "validation.every=1");
        assertThat(run.status().step()).isOne();
        assertThat(run.status().validation()).isNaN();
        assertThat(run.checkpoints()).isEmpty();
    }
}
