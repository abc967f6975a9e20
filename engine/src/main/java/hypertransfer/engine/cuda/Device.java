package hypertransfer.engine.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import hypertransfer.engine.EngineException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;

/** The first CUDA device, through the driver: its memory, one stream, and the launches on it. */
final class Device implements AutoCloseable {
    static final int LEAST_DRIVER = 12000;
    static final int LEAST_CAPABILITY = 80;

    private static final int MULTIPROCESSORS = 16, MAJOR = 75, MINOR = 76, SHARED = 97; // CU_DEVICE_ATTRIBUTE_...

    private final Native driver;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment out = arena.allocate(64);
    private final MemorySegment arguments = arena.allocate(4096, 16);
    private final MemorySegment size = arena.allocate(JAVA_LONG);
    private final MemorySegment extra = arena.allocate(ADDRESS, 5);
    private final int ordinal;
    private final long context;
    private final long stream;
    private final String name;
    private final int version;
    private final int capability;
    private final int shared;
    private final int multiprocessors;
    private Thread bound;

    Device() {
        try {
            driver = new Native("libcuda.so.1", SymbolLookup.libraryLookup("libcuda.so.1", Arena.global()));
        } catch (IllegalArgumentException e) {
            throw new EngineException("no NVIDIA driver: libcuda.so.1 is not found by the system's loader; "
                    + "install the driver (release 525 or later), or run on a machine with an NVIDIA card");
        }
        check("cuInit", 0);
        check("cuDriverGetVersion", out);
        version = out.get(JAVA_INT, 0);
        require(
                version >= LEAST_DRIVER,
                "the NVIDIA driver supports CUDA " + version / 1000 + "." + version % 1000 / 10
                        + "; CUDA 12.0 is the least: install driver 525 or later");
        check("cuDeviceGetCount", out);
        require(out.get(JAVA_INT, 0) > 0, "the driver sees no CUDA device; is CUDA_VISIBLE_DEVICES empty?");
        check("cuDeviceGet", out, 0);
        ordinal = out.get(JAVA_INT, 0);
        MemorySegment text = arena.allocate(256);
        check("cuDeviceGetName", text, 256, ordinal);
        name = text.getString(0);
        capability = 10 * attribute(MAJOR) + attribute(MINOR);
        require(
                capability >= LEAST_CAPABILITY,
                name + " has compute capability " + capability / 10 + "." + capability % 10
                        + "; bfloat16 on the tensor cores needs 8.0 (Ampere) or later: use --engine cpu here");
        shared = attribute(SHARED);
        multiprocessors = attribute(MULTIPROCESSORS);
        check("cuDevicePrimaryCtxRetain", out, ordinal);
        context = out.get(JAVA_LONG, 0);
        bind();
        check("cuStreamCreate", out, 1); // non-blocking: nobody else's work is waited for
        stream = out.get(JAVA_LONG, 0);
        extra.setAtIndex(ADDRESS, 0, MemorySegment.ofAddress(1)); // CU_LAUNCH_PARAM_BUFFER_POINTER
        extra.setAtIndex(ADDRESS, 1, arguments);
        extra.setAtIndex(ADDRESS, 2, MemorySegment.ofAddress(2)); // CU_LAUNCH_PARAM_BUFFER_SIZE
        extra.setAtIndex(ADDRESS, 3, size);
    }

    String name() {
        return name;
    }

    /** 10 major + minor. */
    int capability() {
        return capability;
    }

    /** The major CUDA release that the driver supports. */
    int release() {
        return version / 1000;
    }

    /** Bytes of shared memory that a block may ask for. */
    int shared() {
        return shared;
    }

    int multiprocessors() {
        return multiprocessors;
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

    // ------------------------------------------------------------------ errors

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
        int status = driver.call(function, values);
        if (status != 0) {
            throw new EngineException(function + " failed on " + (name == null ? "the CUDA driver" : name) + ": "
                    + describe(status)
                    + switch (status) {
                        case 2 -> "; close what else uses the card, or lower the batch";
                        case 100, 101 -> "; is CUDA_VISIBLE_DEVICES right?";
                        case 209, 218, 222, 223 ->
                            "; the driver (CUDA " + version / 1000 + "." + version % 1000 / 10
                                    + ") is older than NVRTC: update the driver";
                        default -> "";
                    });
        }
    }

    private String describe(int status) {
        MemorySegment text = arena.allocate(ADDRESS);
        if (driver.call("cuGetErrorName", status, text) != 0) {
            return "error " + status;
        }
        return text.get(ADDRESS, 0).reinterpret(256).getString(0) + " (" + status + ")";
    }

    private int attribute(int attribute) {
        check("cuDeviceGetAttribute", out, attribute, ordinal);
        return out.get(JAVA_INT, 0);
    }

    private static void require(boolean holds, String message) {
        if (!holds) {
            throw new EngineException(message);
        }
    }

    @Override
    public void close() {
        check("cuStreamDestroy_v2", stream);
        check("cuDevicePrimaryCtxRelease_v2", ordinal);
        arena.close();
    }
}
