package hypertransfer.engine.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** The card through its driver: its memory, one stream, and the launches on it. */
final class Device implements AutoCloseable {
    private final Driver driver;
    private final Profile profile = new Profile(this);
    private final Arena arena = Arena.ofShared();
    private final MemorySegment out = arena.allocate(64);
    private final MemorySegment arguments = arena.allocate(4096, 16);
    private final MemorySegment size = arena.allocate(JAVA_LONG);
    private final MemorySegment extra = arena.allocate(ADDRESS, 5);
    private final long context;
    private final long stream;
    private Thread bound;

    Device(Driver driver) {
        this.driver = driver;
        check("cuDevicePrimaryCtxRetain", out, driver.ordinal());
        context = out.get(JAVA_LONG, 0);
        bind();
        check("cuStreamCreate", out, 1); // non-blocking: nobody else's work is waited for
        stream = out.get(JAVA_LONG, 0);
        extra.setAtIndex(ADDRESS, 0, MemorySegment.ofAddress(1)); // CU_LAUNCH_PARAM_BUFFER_POINTER
        extra.setAtIndex(ADDRESS, 1, arguments);
        extra.setAtIndex(ADDRESS, 2, MemorySegment.ofAddress(2)); // CU_LAUNCH_PARAM_BUFFER_SIZE
        extra.setAtIndex(ADDRESS, 3, size);
    }

    Driver driver() {
        return driver;
    }

    Profile profile() {
        return profile;
    }

    long stream() {
        return stream;
    }

    // ------------------------------------------------------------------ memory

    long free() {
        MemorySegment total = out.asSlice(8);
        check("cuMemGetInfo_v2", out, total);
        return out.get(JAVA_LONG, 0);
    }

    long allocate(long bytes) {
        check("cuMemAlloc_v2", out, bytes);
        return out.get(JAVA_LONG, 0);
    }

    void free(long pointer) {
        check("cuMemFree_v2", pointer);
    }

    /** Host memory that copies reach without a stop on the way. */
    MemorySegment pinned(long bytes) {
        check("cuMemAllocHost_v2", out, bytes);
        return out.get(ADDRESS, 0).reinterpret(bytes);
    }

    void unpin(MemorySegment segment) {
        check("cuMemFreeHost", segment);
    }

    void zero(long pointer, long bytes) {
        check("cuMemsetD8Async", pointer, (byte) 0, bytes, stream);
    }

    void upload(MemorySegment from, long to, long bytes) {
        check("cuMemcpyHtoDAsync_v2", to, from, bytes, stream);
    }

    /** Waits. */
    void download(long from, MemorySegment to, long bytes) {
        check("cuMemcpyDtoHAsync_v2", to, from, bytes, stream);
        synchronize();
    }

    void synchronize() {
        check("cuStreamSynchronize", stream);
    }

    // ------------------------------------------------------------------ events

    long event() {
        check("cuEventCreate", out, 0);
        return out.get(JAVA_LONG, 0);
    }

    void record(long event) {
        check("cuEventRecord", event, stream);
    }

    void await(long event) {
        check("cuEventSynchronize", event);
    }

    float milliseconds(long from, long to) {
        check("cuEventElapsedTime", out, from, to);
        return out.get(JAVA_FLOAT, 0);
    }

    void forget(long event) {
        check("cuEventDestroy_v2", event);
    }

    // ----------------------------------------------------------------- kernels

    long module(byte[] image) {
        try (Arena local = Arena.ofConfined()) {
            check("cuModuleLoadData", out, local.allocateFrom(ValueLayout.JAVA_BYTE, image));
            return out.get(JAVA_LONG, 0);
        }
    }

    void unload(long module) {
        check("cuModuleUnload", module);
    }

    long function(long module, String kernel) {
        try (Arena local = Arena.ofConfined()) {
            check("cuModuleGetFunction", out, module, local.allocateFrom(kernel));
            return out.get(JAVA_LONG, 0);
        }
    }

    /** Lets a kernel ask for more than 48 KB of shared memory. */
    void allow(long function, int bytes) {
        check("cuFuncSetAttribute", function, 8, bytes); // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    }

    /** Every argument is eight bytes: a pointer, a long long or a double's bits. */
    void launch(long function, Launch launch, long... words) {
        MemorySegment.copy(words, 0, arguments, JAVA_LONG, 0, words.length);
        size.set(JAVA_LONG, 0, 8L * words.length);
        check(
                "cuLaunchKernel",
                function,
                launch.x(),
                launch.y(),
                launch.z(),
                launch.threads(),
                launch.rows(),
                1,
                launch.shared(),
                stream,
                MemorySegment.NULL,
                extra);
    }

    // ------------------------------------------------------------------ graphs

    /** From here on launches are recorded instead of run. */
    void record() {
        check("cuStreamBeginCapture_v2", stream, 2); // CU_STREAM_CAPTURE_MODE_RELAXED
    }

    /** What was recorded, ready to run. */
    long recorded() {
        check("cuStreamEndCapture", stream, out);
        long graph = out.get(JAVA_LONG, 0);
        check("cuGraphInstantiateWithFlags", out, graph, 0L);
        long ready = out.get(JAVA_LONG, 0);
        check("cuGraphDestroy", graph);
        return ready;
    }

    void run(long graph) {
        check("cuGraphLaunch", graph, stream);
    }

    void drop(long graph) {
        check("cuGraphExecDestroy", graph);
    }

    /** CUDA's context belongs to a thread, so a new thread takes it over first. */
    private void bind() {
        Thread current = Thread.currentThread();
        if (current != bound) {
            bound = current;
            check("cuCtxSetCurrent", context);
        }
    }

    private void check(String function, Object... values) {
        if (context != 0) {
            bind();
        }
        driver.check(function, values);
    }

    @Override
    public void close() {
        check("cuStreamDestroy_v2", stream);
        check("cuDevicePrimaryCtxRelease_v2", driver.ordinal());
        arena.close();
    }
}
