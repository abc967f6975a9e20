package hypertransfer.train.run;

import static hypertransfer.train.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import hypertransfer.train.config.Configuration;
import hypertransfer.train.log.Line;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.RunLock;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RunLockTest {
    @TempDir
    Path dir;

    @Test
    void oneWriterAtATimeAndNoneOverAnother() {
        Tiny tiny = new Tiny(dir);
        Configuration c = tiny.configuration("steps=2");
        Path run = tiny.train("run", c);
        assertThat(RunLock.held(run)).isFalse();
        try (RunLock held = RunLock.open(run)) {
            assertThat(RunLock.held(held.run().directory())).isTrue();
            assertRefused(() -> RunLock.open(run.resolve(".")), "another process is writing the run");
            assertThatThrownBy(() -> RunLock.create(run, c)).hasMessageContaining("another process");
            assertThat(RunLock.held(run)).as("still").isTrue();
        }
        assertThat(RunLock.held(run)).isFalse();
        RunLock.open(run).close();
        assertRefused(() -> RunLock.create(run, c), "already holds a run; choose another --out");
        assertThat(RunLock.held(run)).as("let go again").isFalse();
    }

    /** A page that is live asks while a run of the same process begins and ends: both locked the file for a moment. */
    @Test
    void askingDoesNotDisturb() throws Exception {
        Tiny tiny = new Tiny(dir);
        Path run = tiny.train("run", tiny.configuration("steps=2"));
        AtomicBoolean over = new AtomicBoolean();
        FutureTask<Void> asking = new FutureTask<>(() -> {
            while (!over.get()) {
                RunLock.held(run);
            }
            return null;
        });
        Thread.ofVirtual().start(asking);
        try {
            for (int i = 0; i < 1000; i++) {
                RunLock.open(run).close();
            }
        } finally {
            over.set(true);
        }
        asking.get(1, TimeUnit.MINUTES);
    }

    /** Asks until it is ended, or its standard input is. */
    static final class Asking {
        public static void main(String[] args) throws IOException {
            Thread.ofPlatform().daemon().start(() -> {
                while (true) {
                    RunLock.held(Path.of(args[0]));
                }
            });
            System.out.println("asking");
            System.in.read();
        }
    }

    /** 'ht runs' beside a run that begins: the run was told that another process writes it. */
    @Test
    void askingFromAnotherProcessDoesNotDisturb() throws Exception {
        Tiny tiny = new Tiny(dir);
        Path run = tiny.train("run", tiny.configuration("steps=2"));
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        Process other = new ProcessBuilder(
                        java, "-cp", System.getProperty("java.class.path"), Asking.class.getName(), run.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (BufferedReader said = other.inputReader()) {
            assertThat(said.readLine()).isEqualTo("asking");
            for (int i = 0; i < 1000; i++) {
                try (RunLock held = RunLock.open(run)) {
                    assertThat(RunLock.held(held.run().directory())).isTrue();
                }
                assertThat(RunLock.held(run)).as("nobody writes it").isFalse();
            }
        } finally {
            other.destroyForcibly();
        }
    }

    /** A second process could take the run then, and both wrote it. */
    @Test
    void aLockThatWasRemovedIsNoticedAtTheNextSave() throws IOException {
        Tiny tiny = new Tiny(dir);
        Configuration c = tiny.configuration("steps=4", "checkpoint.every=2");
        Path run = tiny.path("run");
        try (RunLock lock = RunLock.create(run, c)) {
            Trainer trainer = Tiny.trainer(lock, c, new Watcher() {
                @Override
                public void logged(Line line) {
                    run.resolve("lock").toFile().delete();
                }
            });
            assertRefused(
                    () -> trainer.run(false, Set.of(), () -> false),
                    "was removed or replaced while the run was being written");
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
        assertThat(RunLock.held(dir)).isFalse();
        assertRefused(() -> RunLock.open(dir), "is not a run: it has no config.yaml");
        assertRefused(() -> new Run(dir).provenance(), "provenance.json");
    }
}
