package hypertransfer.engine.ranks.library;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import hypertransfer.engine.EngineException;
import hypertransfer.engine.ranks.Ranks;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/**
 * Ranks that Open MPI started, which talk through host memory. Messages are sent and received without blocking, then
 * tested until all are there or the limit is passed, so that a dead rank cannot hold the others.
 */
public final class Mpi implements Ranks {
    private static final int FUNNELED = 1; // MPI_THREAD_FUNNELED: one thread calls
    private static final int TAG = 0; // messages between two ranks arrive in the order they were sent
    private static final long PIECE = 1L << 30; // counts are ints
    private static final int SPINS = 200;

    private final OpenMpi mpi;
    private final Supplier<Arena> arenas;
    private Duration limit;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment flag = arena.allocate(JAVA_INT);
    private final int rank;
    private final int size;

    /**
     * Starts MPI in this process, which can be done once.
     *
     * @param arenas for what a message needs until it has arrived; one that never arrives keeps its memory, since MPI may write
     *     to it until the process ends
     */
    Mpi(OpenMpi mpi, Duration limit, Supplier<Arena> arenas) {
        this.mpi = mpi;
        this.limit = limit;
        this.arenas = arenas;
        OpenMpi.leaveSignalsToTheJvm();
        MemorySegment out = arena.allocate(JAVA_INT);
        mpi.check("MPI_Init_thread", MemorySegment.NULL, MemorySegment.NULL, FUNNELED, out);
        mpi.check("MPI_Comm_set_errhandler", mpi.world(), mpi.symbols().address("ompi_mpi_errors_return"));
        mpi.check("MPI_Comm_rank", mpi.world(), out);
        rank = out.get(JAVA_INT, 0);
        mpi.check("MPI_Comm_size", mpi.world(), out);
        size = out.get(JAVA_INT, 0);
    }

    @Override
    public int rank() {
        return rank;
    }

    @Override
    public int size() {
        return size;
    }

    @Override
    public String label() {
        return mpi.version();
    }

    @Override
    public Duration limit() {
        return limit;
    }

    @Override
    public void limit(Duration limit) {
        this.limit = limit;
    }

    @Override
    public MemorySegment buffer(long bytes) {
        return arena.allocate(bytes, 64);
    }

    @Override
    public Delivery begin(List<MemorySegment> out, List<MemorySegment> in) {
        Messages messages = new Messages();
        for (int peer = 0; peer < size; peer++) {
            if (peer != rank) {
                messages.start("MPI_Irecv", in.get(peer), peer);
                messages.start("MPI_Isend", out.get(peer), peer);
            }
        }
        if (!messages.requests.isEmpty()) {
            messages.finished(0); // Open MPI moves bytes only while it is called: those of all that is under way
        }
        return messages;
    }

    @Override
    public void gather(List<MemorySegment> parts) {
        begin(parts(_ -> parts.get(rank)), parts).await();
    }

    @Override
    public List<byte[]> all(byte[] own) {
        return bring(own, this::gather);
    }

    @Override
    public List<byte[]> collect(byte[] own) {
        List<byte[]> parts = bring(own, part -> {
            MemorySegment none = MemorySegment.NULL;
            List<MemorySegment> out = parts(peer -> peer == 0 ? part.get(rank) : none);
            begin(out, parts(peer -> rank == 0 ? part.get(peer) : none)).await();
        });
        return rank == 0 ? parts : List.of();
    }

    /** The lengths go to all, the bytes where they are wanted. */
    private List<byte[]> bring(byte[] own, Consumer<List<MemorySegment>> carry) {
        Arena local = arenas.get();
        MemorySegment lengths = local.allocate(JAVA_LONG, size);
        lengths.setAtIndex(JAVA_LONG, rank, own.length);
        gather(parts(peer -> lengths.asSlice(8L * peer, 8)));
        List<MemorySegment> texts = parts(peer -> local.allocate(lengths.getAtIndex(JAVA_LONG, peer)));
        MemorySegment.copy(own, 0, texts.get(rank), JAVA_BYTE, 0, own.length);
        carry.accept(texts);
        List<byte[]> all = texts.stream().map(text -> text.toArray(JAVA_BYTE)).toList();
        local.close();
        return all;
    }

    private List<MemorySegment> parts(IntFunction<MemorySegment> part) {
        return IntStream.range(0, size).mapToObj(part).toList();
    }

    @Override
    public void abort(int code) {
        mpi.check("MPI_Abort", mpi.world(), code);
    }

    /** All ranks meet first, with the limit: MPI_Finalize itself waits for ever. */
    @Override
    public void close() {
        all(new byte[0]);
        mpi.check("MPI_Finalize");
        arena.close();
    }

    private final class Messages implements Delivery {
        private final Arena local = arenas.get();
        private final List<Integer> peers = new ArrayList<>();
        private final List<MemorySegment> requests = new ArrayList<>();

        void start(String function, MemorySegment part, int peer) {
            for (long at = 0; at < part.byteSize(); at += PIECE) {
                int count = (int) Math.min(PIECE, part.byteSize() - at);
                MemorySegment request = local.allocate(ADDRESS);
                mpi.check(function, part.asSlice(at, count), count, mpi.bytes(), peer, TAG, mpi.world(), request);
                peers.add(peer);
                requests.add(request);
            }
        }

        @Override
        public void await() {
            long end = System.nanoTime() + limit.toNanos();
            int done = 0;
            for (int tries = 0; ; tries++) {
                while (done < requests.size() && finished(done)) {
                    done++;
                }
                if (done == requests.size()) {
                    local.close();
                    return;
                }
                if (System.nanoTime() > end) {
                    throw silent();
                }
                if (tries < SPINS) {
                    Thread.onSpinWait();
                } else {
                    LockSupport.parkNanos(20_000); // ranks may outnumber the cores
                }
            }
        }

        /** A request that is finished is emptied, and is then finished for good. */
        private boolean finished(int message) {
            mpi.check("MPI_Test", requests.get(message), flag, MemorySegment.NULL); // MPI_STATUS_IGNORE
            return flag.get(JAVA_INT, 0) != 0;
        }

        private EngineException silent() {
            List<String> missing = IntStream.range(0, requests.size())
                    .filter(i -> !finished(i))
                    .mapToObj(i -> "" + peers.get(i))
                    .distinct()
                    .toList();
            return new EngineException("rank " + rank + " waited " + limit.toSeconds() + " s for "
                    + (missing.size() == 1 ? "rank " : "ranks ") + String.join(", ", missing) + " of " + size
                    + ": they ended, hang, or need longer than ranks.limit;"
                    + " run the same command again to continue from the last checkpoint");
        }
    }
}
