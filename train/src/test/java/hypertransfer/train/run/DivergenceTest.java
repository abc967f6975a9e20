package hypertransfer.train.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import hypertransfer.core.Diverged;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.log.FailureKind;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.Standing;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What happens when a loss runs away. */
class DivergenceTest {
    @TempDir
    Path dir;

    private Tiny tiny;

    @BeforeEach
    void tiny() {
        tiny = new Tiny(dir);
    }

    private static String newest(Path run) {
        return new Run(run)
                .checkpoints().stream()
                        .map(file -> file.getFileName().toString())
                        .findFirst()
                        .orElse("none");
    }

    @Test
    void aLossAboveTheLimitNamesStepAndMatrix() {
        // the loss starts at the logarithm of the vocabulary and is below this limit until AdamW's rate is huge
        Configuration c = tiny.configuration("adamw.rate=5", "adamw.warmup=0.9", "checkpoint.every=1", "stop_above=4");
        assertThatThrownBy(() -> tiny.train("run", c))
                .isInstanceOf(Diverged.class)
                .hasMessageMatching(
                        "the loss is \\d\\.\\d{4} at step \\d+, above 4.0000: the run has diverged; the largest effective"
                                + " rate is 0?[\\d.]{6,9}, of blocks\\.0\\.\\S+\\.weight; lower the learning rate .*");
        Path run = tiny.path("run");
        assertThat(new Run(run).standing().state().label()).isEqualTo("failed");
        assertThat(new Run(run).standing().message()).contains("diverged");
        int failedAt = new Run(run).standing().step();
        assertThat(Tiny.curves(run).losses())
                .as("no line for the step that failed")
                .hasSize(failedAt);
        assertThat(newest(run)).isNotEqualTo("none");
        tiny.resume("run", ConfigurationFile.with(c, "stop_above=1000"));
        assertThat(new Run(run).standing().state().label()).isEqualTo("finished");
        assertThat(Tiny.curves(run).losses()).hasSize(40);
    }

    @Test
    void aNumberThatIsNoneIsNamedAndNeverSaved() {
        // without epsilon, tokens that were never seen have the update 0/0
        Configuration c = tiny.configuration("model.vocab=64", "adamw.epsilon=0", "checkpoint.every=1");
        assertThatThrownBy(() -> tiny.train("run", c))
                .isInstanceOf(Diverged.class)
                .hasMessageContaining("embed.weight at step 1: its norm is NaN");
        assertThat(newest(tiny.path("run"))).isEqualTo("none");
    }

    @Test
    void aGradientThatIsNotFiniteNamesTheMatrix() {
        Configuration c = tiny.configuration(
                "matrices.direction=adam",
                "matrices.epsilon=0",
                "matrices.beta2=0",
                "matrices.beta1=0",
                "adamw.rate=0",
                "adamw.decay=0",
                "matrices.rate=1e300",
                "matrices.decay=0",
                "matrices.schedule=constant",
                "matrices.warmup=0.3",
                "checkpoint.every=1",
                "network=M2");
        assertThatThrownBy(() -> tiny.train("run", c))
                .isInstanceOf(Diverged.class)
                .hasMessageMatching("blocks\\.0\\.\\S+ at step \\d+: .*the (training|run) has diverged.*");
        assertThat(newest(tiny.path("run"))).isEqualTo("none");
    }

    @Test
    void aValidationLossBeyondTheLimitIsADivergence() {
        Configuration c = tiny.configuration("stop_above=1");
        assertThatThrownBy(() -> tiny.train("high", c))
                .isInstanceOf(Diverged.class)
                .hasMessageContaining("the validation loss is");
        assertThat(new Run(tiny.path("high")).standing().kind()).isEqualTo(FailureKind.DIVERGED);
    }

    @Test
    void aValidationLossThatIsNoNumberIsADivergence() {
        // without epsilon, the first step makes tokens that it has not seen 0/0, and the validation sees them
        Configuration c = tiny.configuration("adamw.epsilon=0", "validation.every=1");
        assertThatThrownBy(() -> tiny.train("none", c))
                .isInstanceOf(Diverged.class)
                .hasMessageContaining("the validation loss is NaN before step 1");
        Standing standing = new Run(tiny.path("none")).standing();
        assertThat(standing.kind()).isEqualTo(FailureKind.DIVERGED);
        assertThat(standing.step()).isOne();
        assertThat(standing.validation()).isNaN();
        assertThat(newest(tiny.path("none"))).isEqualTo("none");
    }

    /** It finished with a loss of exactly ln V before: squares beyond float32 become 0 in a norm's factor. */
    @Test
    void numbersBeyondFloat32AreADivergence() {
        Configuration c = tiny.configuration("steps=1", "adamw.rate=1e25", "adamw.decay=0");
        assertThatThrownBy(() -> tiny.train("huge", c)).isInstanceOf(Diverged.class);
        assertThat(new Run(tiny.path("huge")).checkpoints()).isEmpty();
    }
}
