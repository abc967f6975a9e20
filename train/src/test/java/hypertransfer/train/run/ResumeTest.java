package hypertransfer.train.run;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.core.Mode;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.Run.Curves;
import hypertransfer.train.log.RunStatus;
import hypertransfer.train.optimizer.Directions;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Eight steps are five, a resume, and three: bit for bit. */
class ResumeTest {
    private Tiny tiny;

    @BeforeEach
    void tiny(@TempDir Path dir) {
        tiny = new Tiny(dir);
    }

    /** Every mode and every direction on both engines, each mode with another direction; with -Dht.slow=true all with all. */
    static Stream<Arguments> cases() {
        Directions[] directions = Directions.values();
        return Stream.of("cpu", "reference")
                .flatMap(engine -> Stream.of(Mode.values())
                        .flatMap(mode -> IntStream.range(0, Boolean.getBoolean("ht.slow") ? directions.length : 1)
                                .map(k -> mode.ordinal() + k + (engine.equals("cpu") ? 0 : 4))
                                .mapToObj(k -> directions[k % directions.length].label())
                                .map(name -> Arguments.of(engine, name, mode.label()))));
    }

    @ParameterizedTest
    @MethodSource("cases")
    void everyModeAndDirection(String engine, String direction, String mode) {
        String settings = "steps=8 engine=%s matrices.direction=%s matrices.mode=%s matrices.target_decay=0.3";
        check(5, settings.formatted(engine, direction, mode).split(" "));
    }

    /** Interrupted neither at a checkpoint's step nor at a validation's. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "matrices.proxy_growth=1.5",
                "network=M2 matrices.mode=hypertransfer-plus matrices.proxy_rate=30",
                "steps=23 network=M2 matrices.gradient=auto matrices.nesterov=true matrices.shape_factor=rms"
                        + " matrices.schedule=cosine model.accumulation=3 data.shuffle=true log.matrices_every=4",
                "network=M2 model.mlp=swiglu model.kv_heads=1 model.window=5 model.qk_norm=false model.embed_norm=false"
                        + " model.recompute=true"
            })
    void whatElseCouldBeForgotten(String settings) {
        check(17, ("matrices.mode=hypertransfer-plus " + settings).split(" "));
    }

    @Test
    void theLastValidationIsKnownBeforeTheNextOne() {
        Configuration c = tiny.configuration("validation.every=30");
        tiny.trainUntil("parts", c, 15);
        Run run = new Run(tiny.path("parts"));
        double first = run.status().validation();
        assertThat(first).as("at step 0").isFinite();
        tiny.resumeUntil("parts", c, 20);
        assertThat(run.status().step()).isEqualTo(20);
        assertThat(run.status().validation()).isEqualTo(first);
    }

    private void check(int at, String... settings) {
        Configuration c = tiny.configuration(settings);
        Path whole = tiny.train("whole", c);
        Run parts = new Run(tiny.path("parts"));
        assertThat(tiny.trainUntil("parts", c, at)).as("finished").isFalse();
        assertThat(parts.status().state().label()).isEqualTo("interrupted");
        assertThat(parts.status().step()).isEqualTo(at);

        assertThat(tiny.resume("parts")).isEmpty();

        assertThat(Tiny.result(parts.directory())).isEqualTo(Tiny.result(whole));
        Curves t = Tiny.curves(whole);
        assertThat(t.losses()).hasSize(c.steps());
        assertThat(t.validations()).containsKeys(0, c.steps());
        assertThat(t.losses().lastEntry().getValue())
                .as("it learns")
                .isLessThan(t.losses().firstEntry().getValue());
        assertThat(parts.status().state().label()).isEqualTo("finished");
    }

    @Test
    void aFinishedRunStaysAsItIs() {
        Path run = tiny.train("run", tiny.configuration("steps=10"));
        List<Object> before = Tiny.result(run);
        RunStatus finished = new Run(run).status();
        assertThat(finished.loss()).isFinite();
        tiny.resume("run");
        assertThat(Tiny.result(run)).isEqualTo(before);
        assertThat(new Run(run).status()).isEqualTo(finished);
    }

    @Test
    void aRunWithoutACheckpointBeginsAgain() throws Exception {
        Configuration c = tiny.configuration("steps=8");
        Path whole = tiny.train("whole", c), run = tiny.path("run");
        tiny.trainUntil("run", c, 5);
        for (Path file : new Run(run).checkpoints()) {
            Files.delete(file); // its tensors stay, as a kill between the two files leaves them
        }
        Files.writeString(run.resolve(Run.METRICS), "{\"step\":0,\"loss\":1.0}\n{\"step\":1,\"lo");
        tiny.resume("run");
        assertThat(Tiny.result(run)).isEqualTo(Tiny.result(whole));
    }
}
