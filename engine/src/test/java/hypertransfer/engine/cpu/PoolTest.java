package hypertransfer.engine.cpu;

import static hypertransfer.engine.Refused.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import hypertransfer.engine.Stopped;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Isolated("a test looks at all threads of the process")
class PoolTest {
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 8})
    void everyPieceIsDoneOnceByAWorkerOfItsOwn(int threads) {
        try (Pool pool = new Pool(threads)) {
            assertThat(pool.size()).isEqualTo(threads);
            for (int round = 0; round < 500; round++) {
                int pieces = round % 37;
                AtomicIntegerArray done = new AtomicIntegerArray(pieces), busy = new AtomicIntegerArray(threads);
                AtomicInteger shared = new AtomicInteger();
                pool.run(pieces, (piece, worker) -> {
                    shared.addAndGet(busy.getAndIncrement(worker));
                    done.incrementAndGet(piece);
                    busy.decrementAndGet(worker);
                });
                assertThat(shared).as("two pieces at a time on one worker").hasValue(0);
                for (int piece = 0; piece < pieces; piece++) {
                    assertThat(done.get(piece)).isOne();
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4})
    void workIsGivenUpOnceItIsToldToStop(int threads) {
        try (Pool pool = new Pool(threads)) {
            AtomicInteger asked = new AtomicInteger(), done = new AtomicInteger();
            Thread caller = Thread.currentThread();
            assertThatThrownBy(() -> Stopped.until(
                            () -> {
                                assertThat(Thread.currentThread()).isSameAs(caller);
                                return asked.incrementAndGet() > 20;
                            },
                            () -> {
                                while (true) {
                                    pool.run(100_000, (piece, worker) -> done.incrementAndGet());
                                }
                            }))
                    .isInstanceOf(Stopped.class);
            assertThat(asked).hasValue(21);
            done.set(0);
            pool.run(37, (piece, worker) -> done.incrementAndGet());
            assertThat(done).as("afterwards all is done again").hasValue(37);
        }
    }

    /** Once the caller was told to stop, no worker that looked a moment earlier lets it be asked again. */
    @Test
    void whatTheCallerWasToldHoldsForAllWorkers() {
        try (Pool pool = new Pool(2)) {
            for (int round = 0; round < 20_000; round++) {
                AtomicInteger asked = new AtomicInteger();
                assertThatThrownBy(() -> Stopped.until(() -> asked.incrementAndGet() > 3, () -> {
                            while (true) {
                                pool.run(50, (piece, worker) -> {});
                            }
                        }))
                        .isInstanceOf(Stopped.class);
                assertThat(asked).as("round %d", round).hasValue(4);
            }
        }
    }

    /** The caller has done its piece and sleeps, without a timeout, until the last of the others is done. */
    @Test
    void aCallerThatFellAsleepIsWoken() {
        assertTimeoutPreemptively(Duration.ofMinutes(10), () -> {
            try (Pool pool = new Pool(2)) {
                for (int round = 0; round < 50; round++) {
                    CountDownLatch begun = new CountDownLatch(2);
                    long length = 100_000L * (round % 20);
                    pool.run(2, (piece, worker) -> {
                        begun.countDown();
                        while (begun.getCount() > 0) {} // so that the caller does not take both
                        if (worker != 0) {
                            LockSupport.parkNanos(length);
                        }
                    });
                }
            }
        });
    }

    /** Threads that found no work for long are asleep, and must hear of the next task. */
    @Test
    void workersThatFellAsleepAreWoken() {
        assertTimeoutPreemptively(Duration.ofMinutes(10), () -> {
            try (Pool pool = new Pool(3)) {
                AtomicInteger done = new AtomicInteger();
                for (int round = 0; round < 100; round++) {
                    LockSupport.parkNanos(500_000);
                    pool.run(5, (piece, worker) -> done.incrementAndGet());
                }
                assertThat(done).hasValue(500);
            }
        });
    }

    @Test
    void aPieceThatFailsIsReportedAndThePoolGoesOn() {
        try (Pool pool = new Pool(2)) {
            AtomicInteger done = new AtomicInteger();
            refused(
                    () -> pool.run(8, (piece, worker) -> {
                        if (piece == 3) {
                            throw new IllegalStateException("broken");
                        }
                        done.incrementAndGet();
                    }),
                    "broken");
            assertThat(done).hasValue(7);
            pool.run(8, (piece, worker) -> done.incrementAndGet());
            assertThat(done).hasValue(15);
        }
    }

    @Test
    void refusesWhatItCannotCount() {
        try (Pool pool = new Pool(2)) {
            refused(() -> pool.run(1 << 20, (piece, worker) -> {}), "1048576 pieces");
        }
    }

    @Test
    void closingTwiceEndsAllThreadsOnce() {
        Pool pool = new Pool(4);
        pool.close();
        pool.close();
        assertThat(Thread.getAllStackTraces().keySet())
                .noneMatch(t -> t.getName().startsWith("ht-cpu-"));
    }
}
