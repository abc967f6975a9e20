package hypertransfer.train.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.RunLock;
import hypertransfer.train.log.RunStatus;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A run that is told to stop is asked between all micro-batches, of steps and of validations, and after a save. It ends
 * at that moment, and the resumed run has the bits of the undisturbed one.
 */
class StopTest {
    private static final int STEPS = 3, MICROS = 3, WINDOWS = 3, INSIDE = 5;

    @TempDir
    Path dir;

    private int asked;
    private boolean loops; // whether only what the loops ask is counted, and not what an operation of the engine asks

    private boolean run(Path directory, Configuration c, BooleanSupplier stop) {
        try (RunLock held = RunLock.create(directory, c)) {
            return Tiny.trainer(held, c, new Watcher() {}).run(false, Set.of(), stop);
        }
    }

    private static Configuration configuration(Tiny tiny, String engine, int micros, int windows) {
        String settings =
                "engine=%s steps=%d model.accumulation=%d validation.batches=%d validation.every=1 checkpoint.every=2";
        return tiny.configuration(
                settings.formatted(engine, STEPS, micros, windows).split(" "));
    }

    /** Whoever asks stands right below this class on the stack. */
    private boolean counts() {
        return !loops
                || StackWalker.getInstance()
                        .walk(frames -> frames.map(StackWalker.StackFrame::getClassName)
                                .dropWhile(StopTest.class.getName()::equals)
                                .limit(1)
                                .noneMatch(name -> name.startsWith("hypertransfer.engine.")));
    }

    /** How often an undisturbed run asks. */
    private int asks(String name, Configuration c) {
        asked = 0;
        assertThat(run(dir.resolve(name), c, () -> counts() && asked++ < 0)).isTrue();
        return asked;
    }

    /** Told at one moment, it stops there; the resumed run has the bits of the undisturbed one. */
    private void told(Tiny tiny, Configuration c, int moment, List<Object> expected) {
        asked = 0;
        Path parts = dir.resolve("told-" + moment);
        assertThat(run(parts, c, () -> counts() && ++asked >= moment)).isFalse();
        assertThat(asked - moment)
                .as("asked again after it was told, by the loops only")
                .isLessThanOrEqualTo(2);
        Run stopped = new Run(parts);
        assertThat(stopped.status().state()).isEqualTo(RunStatus.State.INTERRUPTED);
        assertThat(stopped.checkpoints()).as("saved").isNotEmpty();
        tiny.resume("told-" + moment);
        assertThat(Tiny.result(parts)).as("told at moment %d", moment).isEqualTo(expected);
    }

    @Test
    void everyMomentAtWhichItIsAsked() {
        loops = true;
        Tiny tiny = new Tiny(dir);
        Configuration c = configuration(tiny, "reference", MICROS, WINDOWS);
        int all = asks("whole", c);
        int validations = STEPS, saves = 1; // the first validation has one window; one save in the middle
        assertThat(all)
                .as("between windows, between micro-batches, before steps, after a save")
                .isEqualTo(validations * (WINDOWS - 1) + STEPS * (MICROS - 1) + STEPS + saves);
        List<Object> expected = Tiny.result(dir.resolve("whole"));
        for (int moment = 1; moment <= all; moment++) {
            told(tiny, c, moment, expected);
        }
    }

    /**
     * A micro-batch, or a window, may take many seconds: it is asked inside them, too. On one thread, as the build has it, since
     * with more it is luck how many pieces the thread that asks gets; PoolTest has several.
     */
    @ParameterizedTest
    @ValueSource(strings = {"cpu", "reference"})
    void insideAMicroBatch(String engine) {
        assumeTrue("1".equals(System.getProperty("ht.threads")), "ht.threads demands another number of threads");
        Tiny tiny = new Tiny(dir);
        Configuration c = configuration(tiny, engine, 2, 2);
        int all = asks("whole", c);
        int micros = asks("micros", configuration(tiny, engine, 4, 2)) - all;
        int windows = asks("windows", configuration(tiny, engine, 2, 4)) - all;
        assertThat(micros).as("in each of %d gradients", STEPS * 2).isGreaterThan(20 * STEPS * 2);
        assertThat(windows).as("in each of %d windows", STEPS * 2).isGreaterThan(8 * STEPS * 2);
        List<Object> expected = Tiny.result(dir.resolve("whole"));
        for (int k = 0; k < INSIDE; k++) {
            told(tiny, c, 1 + (int) ((k + 0.5) * all / INSIDE), expected);
        }
    }

    /**
     * How long the first Ctrl-C takes, by what the run was doing when it came. The times are printed and not asserted, since they
     * are the machine's.
     */
    @EnabledIfSystemProperty(named = "ht.slow", matches = "true")
    @ParameterizedTest
    @CsvSource({"cpu, small, 12, 1500", "reference, small, 6, 3000", "reference, demo, 8, 3000"})
    void latencyOfTheFirstRequest(String engine, String preset, int requests, int apart) throws Exception {
        Configuration c = ConfigurationFile.of(
                "preset=" + preset, "engine=" + engine, "checkpoint.every=1", "validation.batches=2");
        Map<String, Double> longest = new LinkedHashMap<>();
        for (int request = 0; request < requests; request++) {
            Path run = dir.resolve(engine + preset + request);
            AtomicLong told = new AtomicLong(Long.MAX_VALUE);
            CountDownLatch begun = new CountDownLatch(1);
            boolean[] finished = {true};
            Thread trains = Thread.ofPlatform()
                    .start(() -> finished[0] = run(run, c, () -> {
                        begun.countDown();
                        return System.nanoTime() >= told.get();
                    }));
            assertThat(begun.await(2, TimeUnit.MINUTES)).isTrue();
            Thread.sleep(50 + (long) request * apart / 2);
            String doing = doing(trains.getStackTrace());
            told.set(System.nanoTime());
            trains.join();
            longest.merge(doing, (System.nanoTime() - told.get()) / 1e9, Math::max);
            assertThat(finished[0]).as("it stopped").isFalse();
        }
        longest.forEach((doing, seconds) ->
                System.out.printf("StopTest: %s, %s, told during %s: %.2f s%n", engine, preset, doing, seconds));
    }

    /** The method of the trainer that leads to where the thread is. */
    private static String doing(StackTraceElement[] stack) {
        return Arrays.stream(stack)
                .filter(frame -> frame.getClassName().matches(".*\\.(Trainer|Session|Optimizer|Snapshot)"))
                .map(frame -> frame.getClassName().replaceFirst(".*\\.", "") + "." + frame.getMethodName())
                .filter(frame -> !frame.contains("lambda"))
                .findFirst()
                .orElse("else");
    }
}
