package hypertransfer.train.run;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.log.RunLock;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * How long the first Ctrl-C takes, by what the run was doing when it came. The times are printed and not asserted, since they
 * are the machine's.
 */
@EnabledIfSystemProperty(named = "ht.slow", matches = "true")
class LatencyTest {
    @TempDir
    Path dir;

    @ParameterizedTest
    @CsvSource({"cpu, small, 12, 1500", "reference, small, 6, 3000", "reference, demo, 8, 3000"})
    void ofTheFirstRequest(String engine, String preset, int requests, int apart) throws Exception {
        Map<String, Double> longest = new LinkedHashMap<>();
        for (int request = 0; request < requests; request++) {
            Configuration c = ConfigurationFile.of(
                    "preset=" + preset, "engine=" + engine, "checkpoint.every=1", "validation.batches=2");
            AtomicLong asked = new AtomicLong(Long.MAX_VALUE);
            CountDownLatch started = new CountDownLatch(1);
            boolean[] finished = {true};
            Path run = dir.resolve(engine + preset + request);
            Thread trains = Thread.ofPlatform().start(() -> {
                try (RunLock held = RunLock.create(run, c)) {
                    finished[0] = Tiny.trainer(held, c, new Watcher() {
                                @Override
                                public void started(Session session, int step) {
                                    started.countDown();
                                }
                            })
                            .run(false, Set.of(), () -> System.nanoTime() >= asked.get());
                }
            });
            assertThat(started.await(2, TimeUnit.MINUTES)).isTrue();
            Thread.sleep(50 + (long) request * apart / 2);
            String doing = doing(trains.getStackTrace());
            asked.set(System.nanoTime());
            trains.join();
            longest.merge(doing, (System.nanoTime() - asked.get()) / 1e9, Math::max);
            assertThat(finished[0]).as("it stopped").isFalse();
        }
        longest.forEach((doing, seconds) ->
                System.out.printf("LatencyTest: %s, %s, told during %s: %.2f s%n", engine, preset, doing, seconds));
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
