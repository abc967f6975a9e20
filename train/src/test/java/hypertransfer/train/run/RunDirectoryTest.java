package hypertransfer.train.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import hypertransfer.core.Refusal;
import hypertransfer.train.config.Configuration;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RunDirectoryTest {
    @TempDir
    Path dir;

    @Test
    void oneWriterAtATime() {
        Tiny tiny = new Tiny(dir);
        Configuration c = tiny.configuration("steps=2");
        Path run = tiny.train("run", c);
        assertThat(RunDirectory.held(run)).isFalse();
        try (RunDirectory held = RunDirectory.open(run)) {
            assertThat(RunDirectory.held(held.path())).isTrue();
            assertThatThrownBy(() -> RunDirectory.open(run.resolve(".")))
                    .isInstanceOf(Refusal.class)
                    .hasMessageContaining("another process is writing the run");
            assertThatThrownBy(() -> RunDirectory.create(run, c)).hasMessageContaining("another process");
            assertThat(RunDirectory.held(run)).as("still").isTrue();
        }
        assertThat(RunDirectory.held(run)).isFalse();
        RunDirectory.open(run).close();
    }

    @Test
    void aRunIsNotOverwritten() {
        Tiny tiny = new Tiny(dir);
        Configuration c = tiny.configuration("steps=2");
        Path run = tiny.train("run", c);
        assertThatThrownBy(() -> RunDirectory.create(run, c))
                .isInstanceOf(Refusal.class)
                .hasMessageContaining("already holds a run; go on with it with --resume");
        assertThat(RunDirectory.held(run)).as("let go again").isFalse();
    }

    @Test
    void whatWasRefusedBeforeItBeganIsNoRun() {
        Tiny tiny = new Tiny(dir);
        Configuration wrong = tiny.configuration("steps=2", "data.train=" + dir.resolve("none.bin"));
        assertThatThrownBy(() -> tiny.train("run", wrong)).isInstanceOf(Refusal.class);
        Configuration right = tiny.configuration("steps=2");
        tiny.train("run", right);
        assertThat(RunDirectory.configuration(tiny.path("run"))).isEqualTo(right);
    }

    @Test
    void noRun() {
        assertThat(RunDirectory.held(dir)).isFalse();
        assertThatThrownBy(() -> RunDirectory.open(dir))
                .isInstanceOf(Refusal.class)
                .hasMessageContaining("is not a run: it has no config.yaml");
        assertThatThrownBy(() -> RunDirectory.matrices(dir))
                .isInstanceOf(Refusal.class)
                .hasMessageContaining("provenance.json");
    }
}
