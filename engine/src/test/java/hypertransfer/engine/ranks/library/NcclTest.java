package hypertransfer.engine.ranks.library;

import static hypertransfer.engine.Refused.refused;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.engine.cuda.driver.Card;
import hypertransfer.engine.foreign.Functions;
import hypertransfer.engine.foreign.Native;
import hypertransfer.engine.ranks.Alone;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What can be known of NCCL without a card: how its functions are called, and that nothing waits for ever. */
class NcclTest {
    /** A library that records what was asked of it. */
    static class Library extends Fake {
        final List<String> calls = new ArrayList<>();
        int version = 22803;
        int pending = 2; // so many times a call is still in progress
        int state;

        Library() {
            super("ncclGroupStart()", "ncclGroupEnd()");
        }

        public int ncclGetVersion(MemorySegment out) {
            out.reinterpret(4).set(JAVA_INT, 0, version);
            return 0;
        }

        public int ncclGetUniqueId(MemorySegment out) {
            out.reinterpret(NcclLibrary.ID_BYTES).setAtIndex(JAVA_BYTE, NcclLibrary.ID_BYTES - 1, (byte) 42);
            return 0;
        }

        public int ncclCommInitRankConfig(
                MemorySegment out, int ranks, @ByValue MemorySegment id, int rank, MemorySegment configuration) {
            MemorySegment c = configuration.reinterpret(24);
            out.reinterpret(8).set(JAVA_LONG, 0, 1234);
            calls.add("init " + rank + "/" + ranks + " id " + id.byteSize() + " ends with "
                    + id.getAtIndex(JAVA_BYTE, NcclLibrary.ID_BYTES - 1) + ", size " + c.get(JAVA_LONG, 0) + ", magic "
                    + Integer.toHexString(c.get(JAVA_INT, 8)) + ", blocking " + c.get(JAVA_INT, 16));
            return NcclLibrary.IN_PROGRESS;
        }

        public int ncclCommGetAsyncError(long communicator, MemorySegment out) {
            out.reinterpret(4).set(JAVA_INT, 0, pending-- > 0 ? NcclLibrary.IN_PROGRESS : state);
            return 0;
        }

        public int ncclBroadcast(long from, long to, long count, int type, int root, long communicator, long stream) {
            calls.add("broadcast " + count + " of " + type + " from " + root + " on " + communicator + ", " + stream);
            return 0;
        }

        public int ncclCommAbort(long communicator) {
            calls.add("abort " + communicator);
            return 0;
        }

        public int ncclCommDestroy(long communicator) {
            calls.add("destroy " + communicator);
            return 0;
        }
    }

    private static final long STREAM = (1 << 20) + 512, EVENT = STREAM + 512; // the first that the card gives

    /** A card whose work is as far as a test wants it. */
    static final class Driver implements Native {
        final List<String> calls = new ArrayList<>();
        private final Card card = new Card();
        private final Native linked = // the one function that takes a byte
                new Functions(name(), new Fake("cuMemsetD8Async(LBLL)").lookup());
        int status;

        @Override
        public String name() {
            return "libcuda.so.1";
        }

        @Override
        public int call(String function, Object... arguments) {
            calls.add(function + " " + Arrays.toString(arguments));
            return switch (function) {
                case "cuStreamQuery" -> status;
                case "cuMemsetD8Async" -> linked.call(function, arguments);
                default -> card.call(function, arguments);
            };
        }
    }

    private final Library library = new Library();
    private final Driver driver = new Driver();
    private Duration limit = Duration.ofSeconds(20);

    private Nccl open() {
        NcclLibrary nccl = new NcclLibrary(new Functions("libnccl.so.2", library.lookup()));
        return new Nccl(new Alone(limit), nccl, driver, 99);
    }

    @Test
    void theIdentifierTravelsByValueAndCallsDoNotBlock() {
        try (Nccl nccl = open()) {
            assertThat(nccl.label()).isEqualTo("NCCL 2.28.3, started by one process");
            MemorySegment part = nccl.buffer(40);
            assertThat(part.byteSize()).isEqualTo(40);
            nccl.gather(List.of(part));
            nccl.begin(List.of(part), List.of(part)).await();
        }
        assertThat(library.calls)
                .containsExactly(
                        "init 0/1 id 128 ends with 42, size 24, magic cafebeef, blocking 0",
                        "broadcast 40 of 0 from 0 on 1234, " + STREAM,
                        "destroy 1234");
        assertThat(driver.calls)
                .containsSubsequence(
                        "cuEventRecord [" + EVENT + ", 99]", "cuStreamWaitEvent [" + STREAM + ", " + EVENT + ", 0]");
        assertThat(driver.card.held()).isEmpty();
    }

    @Test
    void noWaitIsLongerThanTheLimit() {
        limit = Duration.ofMillis(100);
        library.pending = Integer.MAX_VALUE;
        refused(this::open, "rank 0 of 1 waited 0 s for ncclCommInitRankConfig");
        library.pending = 0;
        Nccl nccl = open();
        driver.status = 600;
        refused(() -> nccl.gather(List.of(nccl.buffer(8))), "s for the card");
        assertThat(library.calls).endsWith("abort 1234");
    }

    @Test
    void failuresAreSaidInWords() {
        Nccl nccl = open();
        library.state = 6;
        String failed = "another rank or the network failed (6)";
        refused(() -> nccl.gather(List.of(nccl.buffer(8))), failed, "NCCL_DEBUG=INFO");
        library.version = 2808;
        refused(this::open, "NCCL is 2.8.8", "2.14 or newer is needed");
        refused(() -> NcclLibrary.load(List.of()), "no libnccl.so.2", "LD_LIBRARY_PATH");
    }
}
