package hypertransfer.engine.ranks.library;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import hypertransfer.engine.EngineException;
import hypertransfer.engine.foreign.Native;
import hypertransfer.engine.ranks.Exchange;
import hypertransfer.engine.ranks.Ranks;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Ranks with one card each, whose tensors NCCL carries from card to card. What is small, and NCCL's own identifier, is
 * carried by the ranks below. It works on a stream of its own, beside the engine's: each delivery begins when the card has
 * done what the engine had asked for until then, and runs beside what the engine asks for next.
 */
public final class Nccl implements Exchange {
    private static final int NOT_READY = 600; // CUDA_ERROR_NOT_READY

    private final Ranks below;
    private final NcclLibrary nccl;
    private final Native cuda;
    private final long engine; // the engine's stream
    private final long stream;
    private final long asked; // an event on the engine's stream
    private final Arena arena = Arena.ofShared();
    private final MemorySegment out = arena.allocate(8, 8);
    private final List<Long> buffers = new ArrayList<>();
    private final long communicator;

    /** With the card's context current in this thread. Closing it leaves the ranks below open. */
    Nccl(Ranks below, NcclLibrary nccl, Native cuda, long engine) {
        this.below = below;
        this.nccl = nccl;
        this.cuda = cuda;
        this.engine = engine;
        checkCuda("cuStreamCreate", out, 1); // CU_STREAM_NON_BLOCKING
        stream = out.get(JAVA_LONG, 0);
        checkCuda("cuEventCreate", out, 2); // CU_EVENT_DISABLE_TIMING
        asked = out.get(JAVA_LONG, 0);
        byte[] id =
                below.all(below.rank() == 0 ? nccl.identifier() : new byte[0]).getFirst();
        MemorySegment value = arena.allocateFrom(JAVA_BYTE, id);
        MemorySegment configuration = NcclLibrary.nonBlocking(arena);
        nccl.check("ncclCommInitRankConfig", out, below.size(), value, below.rank(), configuration);
        communicator = out.get(JAVA_LONG, 0);
        settle("ncclCommInitRankConfig");
    }

    /** Also where there is only one: its tensors then travel to itself. */
    @Override
    public boolean several() {
        return true;
    }

    @Override
    public String label() {
        return "NCCL " + nccl.version() + ", started by " + below.label();
    }

    @Override
    public MemorySegment buffer(long bytes) {
        checkCuda("cuMemAlloc_v2", out, Math.max(1, bytes));
        long pointer = out.get(JAVA_LONG, 0);
        buffers.add(pointer);
        checkCuda("cuMemsetD8Async", pointer, (byte) 0, bytes, engine);
        return MemorySegment.ofAddress(pointer).reinterpret(bytes);
    }

    @Override
    public Delivery begin(List<MemorySegment> out, List<MemorySegment> in) {
        start();
        for (int peer = 0; peer < below.size(); peer++) {
            if (peer != below.rank()) {
                transfer("ncclSend", out.get(peer), peer);
                transfer("ncclRecv", in.get(peer), peer);
            }
        }
        return end();
    }

    @Override
    public void gather(List<MemorySegment> parts) {
        start();
        for (int owner = 0; owner < below.size(); owner++) {
            MemorySegment part = parts.get(owner);
            if (part.byteSize() > 0) {
                long at = part.address();
                nccl.check("ncclBroadcast", at, at, part.byteSize(), NcclLibrary.BYTES, owner, communicator, stream);
            }
        }
        end().await();
    }

    private void transfer(String function, MemorySegment part, int peer) {
        if (part.byteSize() > 0) {
            nccl.check(function, part.address(), part.byteSize(), NcclLibrary.BYTES, peer, communicator, stream);
        }
    }

    /** Opens a group of transfers, behind what the engine was asked for so far. */
    private void start() {
        checkCuda("cuEventRecord", asked, engine);
        checkCuda("cuStreamWaitEvent", stream, asked, 0);
        nccl.check("ncclGroupStart");
    }

    private Delivery end() {
        nccl.check("ncclGroupEnd");
        settle("ncclGroupEnd");
        return this::done;
    }

    /** Waits until the card has done all that was begun. */
    private void done() {
        await("the card", () -> {
            state("ncclGroupEnd");
            return cuda.call("cuStreamQuery", stream) == NOT_READY;
        });
        checkCuda("cuStreamQuery", stream);
    }

    private void settle(String function) {
        await(function, () -> state(function) == NcclLibrary.IN_PROGRESS);
    }

    /** Of what NCCL does by itself since that call, unless it has failed. */
    private int state(String function) {
        nccl.check("ncclCommGetAsyncError", communicator, out);
        int state = out.get(JAVA_INT, 0);
        if (state != 0 && state != NcclLibrary.IN_PROGRESS) {
            nccl.call("ncclCommAbort", communicator);
            throw nccl.failed(function, state);
        }
        return state;
    }

    private void await(String what, BooleanSupplier waiting) {
        long end = System.nanoTime() + below.limit().toNanos();
        while (waiting.getAsBoolean()) {
            if (System.nanoTime() > end) {
                nccl.call("ncclCommAbort", communicator);
                throw new EngineException("rank " + below.rank() + " of " + below.size() + " waited "
                        + below.limit().toSeconds() + " s for "
                        + what + ": another rank ended, hangs, or needs longer than ranks.limit;"
                        + " run the same command again to continue from the last checkpoint");
            }
            LockSupport.parkNanos(5_000);
        }
    }

    private void checkCuda(String function, Object... arguments) {
        int status = cuda.call(function, arguments);
        if (status != 0) {
            throw new EngineException(function + " failed for NCCL: CUDA error " + status);
        }
    }

    @Override
    public void close() {
        below.all(new byte[0]); // nobody destroys a communicator that another still uses
        nccl.check("ncclCommDestroy", communicator);
        checkCuda("cuEventDestroy_v2", asked);
        checkCuda("cuStreamDestroy_v2", stream);
        buffers.forEach(pointer -> checkCuda("cuMemFree_v2", pointer));
        arena.close();
    }
}
