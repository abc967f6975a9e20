package hypertransfer.train.run;

import static hypertransfer.train.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import hypertransfer.train.config.Configuration;
import hypertransfer.train.log.Hold;
import hypertransfer.train.log.Run;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HoldTest {
    @TempDir
    Path dir;

    @Test
    void oneWriterAtATimeAndNoneOverAnother() {
        Tiny tiny = new Tiny(dir);
        Configuration c = tiny.configuration("steps=2");
        Path run = tiny.train("run", c);
        assertThat(Hold.held(run)).isFalse();
        try (Hold held = Hold.open(run)) {
            assertThat(Hold.held(held.run().directory())).isTrue();
            assertRefused(() -> Hold.open(run.resolve(".")), "another process is writing the run");
            assertThatThrownBy(() -> Hold.create(run, c)).hasMessageContaining("another process");
            assertThat(Hold.held(run)).as("still").isTrue();
        }
        assertThat(Hold.held(run)).isFalse();
        Hold.open(run).close();
        assertRefused(() -> Hold.create(run, c), "already holds a run; choose another --out");
        assertThat(Hold.held(run)).as("let go again").isFalse();
    }

    /** A second process could take the run then, and both wrote it. */
    @Test
    void aLockThatWasRemovedIsNoticedAtTheNextSave() throws IOException {
        Tiny tiny = new Tiny(dir);
        Configuration c = tiny.configuration("steps=4", "checkpoint.every=2");
        Path run = tiny.path("run");
        try (Hold hold = Hold.create(run, c)) {
            Trainer trainer = new Trainer(hold, c, Map.of(), new Watcher() {
                @Override
                public void stepped(int step, double loss, double seconds, long tokens) {
                    run.resolve("lock").toFile().delete();
                }
            });
            assertRefused(
                    () -> trainer.run(false, () -> false), "was removed or replaced while the run was being written");
        }
        assertThat(tiny.resume("run")).isEmpty();
    }

    @Test
    void whatWasRefusedBeforeItBeganIsNoRun() {
        Tiny tiny = new Tiny(dir);
        Configuration wrong = tiny.configuration("steps=2", "data.train=" + dir.resolve("none.bin"));
        assertRefused(() -> tiny.train("run", wrong));
        Configuration right = tiny.configuration("steps=2");
        tiny.train("run", right);
        assertThat(new Run(tiny.path("run")).configuration()).isEqualTo(right);
    }

    @Test
    void noRun() {
        assertThat(Hold.held(dir)).isFalse();
        assertRefused(() -> Hold.open(dir), "is not a run: it has no config.yaml");
        assertRefused(() -> new Run(dir).provenance(), "provenance.json");
    }
}
