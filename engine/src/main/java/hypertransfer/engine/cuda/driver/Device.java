package hypertransfer.engine.cuda.driver;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import hypertransfer.engine.EngineException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * The card through its driver: its memory, one stream, and the launches on it. It knows everything that was taken of the
 * card, and closing it gives back what is left, whatever failed before.
 */
public final class Device implements AutoCloseable {
    /** Of a matrix as the copy engine sees it, see {@link #map}. */
    public static final int MAP_WORDS = 16;

    private static final int BFLOAT16 = 9, SWIZZLE_128 = 3, PROMOTE_128 = 2; // CU_TENSOR_MAP_
    public final Driver driver;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment out = arena.allocate(64);
    private final MemorySegment arguments = arena.allocate(4096, 8L * MAP_WORDS);
    private final MemorySegment pointers = arena.allocate(ADDRESS, 64);
    private final MemorySegment map = arena.allocate(8L * MAP_WORDS, 8L * MAP_WORDS);
    private final MemorySegment size = arena.allocate(JAVA_LONG);
    private final MemorySegment extra = arena.allocate(ADDRESS, 5);
    private final Set<Held> held = new LinkedHashSet<>();
    private long context;
    private long stream;
    private Thread bound;

    /** Something taken of the card, and the function that gives it back. */
    private record Held(String release, long handle) {}

    public Device(Driver driver) {
        this.driver = driver;
        try {
            check("cuDevicePrimaryCtxRetain", out, driver.ordinal());
            context = out.get(JAVA_LONG, 0);
            check("cuStreamCreate", out, 1); // non-blocking: nobody else's work is waited for
            stream = taken("cuStreamDestroy_v2");
        } catch (RuntimeException | Error e) {
            try (this) {
                throw e;
            }
        }
        extra.setAtIndex(ADDRESS, 0, MemorySegment.ofAddress(1)); // CU_LAUNCH_PARAM_BUFFER_POINTER
        extra.setAtIndex(ADDRESS, 1, arguments);
        extra.setAtIndex(ADDRESS, 2, MemorySegment.ofAddress(2)); // CU_LAUNCH_PARAM_BUFFER_SIZE
        extra.setAtIndex(ADDRESS, 3, size);
    }

    public long stream() {
        return stream;
    }

    // ------------------------------------------------------------------ memory

    /** Bytes that nobody has taken. */
    public long available() {
        MemorySegment total = out.asSlice(8);
        check("cuMemGetInfo_v2", out, total);
        return out.get(JAVA_LONG, 0);
    }

    public long allocate(long bytes) {
        check("cuMemAlloc_v2", out, bytes);
        return taken("cuMemFree_v2");
    }

    public void free(long pointer) {
        release(new Held("cuMemFree_v2", pointer));
    }

    /** Host memory that the card reads and writes directly. */
    public MemorySegment pinned(long bytes) {
        check("cuMemAllocHost_v2", out, bytes);
        return MemorySegment.ofAddress(taken("cuMemFreeHost")).reinterpret(bytes);
    }

    public void zero(long pointer, long bytes) {
        check("cuMemsetD8Async", pointer, (byte) 0, bytes, stream);
    }

    public void upload(MemorySegment from, long to) {
        check("cuMemcpyHtoDAsync_v2", to, from, from.byteSize(), stream);
    }

    /** From the host or a card to the host or a card. */
    public void copy(long from, long to, long bytes) {
        check("cuMemcpyAsync", to, from, bytes, stream);
    }

    /** Waits. */
    public void download(long from, MemorySegment to) {
        check("cuMemcpyDtoHAsync_v2", to, from, to.byteSize(), stream);
        synchronize();
    }

    public void synchronize() {
        check("cuStreamSynchronize", stream);
    }

    // ------------------------------------------------------------------ events

    public long event() {
        check("cuEventCreate", out, 0);
        return taken("cuEventDestroy_v2");
    }

    public void record(long event) {
        check("cuEventRecord", event, stream);
    }

    public void await(long event) {
        check("cuEventSynchronize", event);
    }

    public float milliseconds(long from, long to) {
        check("cuEventElapsedTime", out, from, to);
        return out.get(JAVA_FLOAT, 0);
    }

    public void forget(long event) {
        release(new Held("cuEventDestroy_v2", event));
    }

    // ----------------------------------------------------------------- kernels

    public long module(byte[] image) {
        try (Arena local = Arena.ofConfined()) {
            check("cuModuleLoadData", out, local.allocateFrom(JAVA_BYTE, image));
            return taken("cuModuleUnload");
        }
    }

    public long function(long module, String kernel) {
        try (Arena local = Arena.ofConfined()) {
            check("cuModuleGetFunction", out, module, local.allocateFrom(kernel));
            return out.get(JAVA_LONG, 0);
        }
    }

    /** Lets a kernel ask for more than 48 KB of shared memory. */
    public void allow(long function, int bytes) {
        check("cuFuncSetAttribute", function, 8, bytes); // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    }

    /**
     * A matrix of bfloat16, row after row, as the copy engine sees it: boxes of so many rows and panels of 64 columns, which it
     * copies to shared memory with the chunks of a row permuted.
     */
    public long[] map(long address, long rows, long cols, int boxRows, int panels) {
        try (Arena local = Arena.ofConfined()) {
            int row = 64, bytes = 2 * row, swizzle = SWIZZLE_128, promote = PROMOTE_128;
            MemorySegment sizes = local.allocateFrom(JAVA_LONG, row, rows, cols / row);
            MemorySegment strides = local.allocateFrom(JAVA_LONG, 2 * cols, bytes);
            MemorySegment box = local.allocateFrom(JAVA_INT, row, boxRows, panels);
            MemorySegment steps = local.allocateFrom(JAVA_INT, 1, 1, 1);
            String encode = "cuTensorMapEncodeTiled";
            check(encode, map, BFLOAT16, 3, address, sizes, strides, box, steps, 0, swizzle, promote, 0);
            return map.toArray(JAVA_LONG);
        }
    }

    /** Every argument is eight bytes: a pointer, a long long or a double's bits. */
    public void launch(long function, Launch launch, long... words) {
        MemorySegment.copy(words, 0, arguments, JAVA_LONG, 0, words.length);
        size.set(JAVA_LONG, 0, 8L * words.length);
        launch(function, launch, MemorySegment.NULL, extra);
    }

    /** The same where the first arguments are maps: CUDA takes those one by one only. */
    public void launch(long function, Launch launch, int maps, long... words) {
        MemorySegment.copy(words, 0, arguments, JAVA_LONG, 0, words.length);
        for (int at = 0, i = 0; at < words.length; i++) {
            pointers.setAtIndex(ADDRESS, i, arguments.asSlice(8L * at));
            at += i < maps ? MAP_WORDS : 1;
        }
        launch(function, launch, pointers, MemorySegment.NULL);
    }

    private void launch(long function, Launch launch, MemorySegment each, MemorySegment whole) {
        int x = launch.x(), y = launch.y(), z = launch.z(), threads = launch.threads(), rows = launch.rows();
        check("cuLaunchKernel", function, x, y, z, threads, rows, 1, launch.shared(), stream, each, whole);
    }

    // ------------------------------------------------------------------ graphs

    /** From here on launches become part of a graph instead of running. */
    void beginCapture() {
        check("cuStreamBeginCapture_v2", stream, 2); // CU_STREAM_CAPTURE_MODE_RELAXED
    }

    /** The graph of all launches since, ready to run. */
    long endCapture() {
        check("cuStreamEndCapture", stream, out);
        long graph = taken("cuGraphDestroy");
        check("cuGraphInstantiateWithFlags", out, graph, 0L);
        long ready = taken("cuGraphExecDestroy");
        release(new Held("cuGraphDestroy", graph));
        return ready;
    }

    /** Ends a capture whose launches failed. */
    void abandonCapture() {
        check("cuStreamEndCapture", stream, out);
        if (out.get(JAVA_LONG, 0) != 0) {
            release(new Held("cuGraphDestroy", taken("cuGraphDestroy")));
        }
    }

    void run(long graph) {
        check("cuGraphLaunch", graph, stream);
    }

    private long taken(String release) {
        long handle = out.get(JAVA_LONG, 0);
        held.add(new Held(release, handle));
        return handle;
    }

    private void release(Held it) {
        held.remove(it);
        check(it.release, it.handle);
    }

    /** CUDA's context belongs to a thread, so a new thread takes it over first. */
    private void bind() {
        Thread current = Thread.currentThread();
        if (current != bound) {
            bound = current;
            driver.check("cuCtxSetCurrent", context);
        }
    }

    private void check(String function, Object... values) {
        if (context != 0) {
            bind();
        }
        driver.check(function, values);
    }

    public boolean closed() {
        return !arena.scope().isAlive();
    }

    @Override
    public void close() {
        if (closed()) {
            return;
        }
        EngineException failure = null;
        for (Held it : List.copyOf(held).reversed()) {
            failure = attempt(failure, () -> release(it));
        }
        if (context != 0) {
            failure = attempt(failure, () -> check("cuDevicePrimaryCtxRelease_v2", driver.ordinal()));
        }
        arena.close();
        if (failure != null) {
            throw failure;
        }
    }

    /** The first failure, the later ones attached to it. */
    private static EngineException attempt(EngineException before, Runnable action) {
        try {
            action.run();
            return before;
        } catch (EngineException e) {
            if (before == null) {
                return e;
            }
            before.addSuppressed(e);
            return before;
        }
    }
}
