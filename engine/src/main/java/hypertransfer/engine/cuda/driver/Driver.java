package hypertransfer.engine.cuda.driver;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import hypertransfer.engine.EngineException;
import hypertransfer.engine.foreign.Functions;
import hypertransfer.engine.foreign.Native;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Path;
import java.util.HexFormat;

/** NVIDIA's driver and one of the cards it shows, if both are new enough. Nothing of the card is taken yet. */
public final class Driver {
    static final int LEAST_RELEASE = 12000;
    static final int LEAST_CAPABILITY = 80;

    private static final String FILE = "libcuda.so.1";
    private static final int MULTIPROCESSORS = 16, MAJOR = 75, MINOR = 76, SHARED = 97; // CU_DEVICE_ATTRIBUTE_...

    private final Native library;
    private final int ordinal;
    private final String uuid;
    private final String name;
    private final int version;
    private final int capability;
    private final int shared;
    private final int multiprocessors;

    /** The driver that the system's loader finds, with the card of this number, counted in a circle. */
    public static Driver open(int card) {
        try {
            return new Driver(new Functions(FILE, SymbolLookup.libraryLookup(FILE, Arena.global())), card);
        } catch (IllegalArgumentException e) {
            throw new EngineException(
                    "no NVIDIA driver: the system's loader does not find libcuda.so.1; install driver 525 or later, "
                            + "or run on a machine with an NVIDIA card",
                    e);
        }
    }

    public Driver(Native library, int card) {
        this.library = library;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment out = arena.allocate(256, 8);
            check("cuInit", 0);
            check("cuDriverGetVersion", out);
            version = out.get(JAVA_INT, 0);
            require(version >= LEAST_RELEASE, tooOld(version));
            check("cuDeviceGetCount", out);
            int cards = out.get(JAVA_INT, 0);
            require(cards > 0, "the driver sees no CUDA device; is CUDA_VISIBLE_DEVICES empty?");
            check("cuDeviceGet", out, card % cards);
            ordinal = out.get(JAVA_INT, 0);
            check("cuDeviceGetUuid_v2", out, ordinal);
            uuid = HexFormat.of().formatHex(out.asSlice(0, 16).toArray(JAVA_BYTE));
            check("cuDeviceGetName", out, 256, ordinal);
            name = out.getString(0);
            capability = 10 * attribute(out, MAJOR) + attribute(out, MINOR);
            require(capability >= LEAST_CAPABILITY, tooSmall(name, capability));
            shared = attribute(out, SHARED);
            multiprocessors = attribute(out, MULTIPROCESSORS);
        }
    }

    static String tooOld(int version) {
        return "the NVIDIA driver supports CUDA " + release(version)
                + ", but 12.0 is the least: install driver 525 or later";
    }

    static String tooSmall(String card, int capability) {
        return card + " has compute capability " + capability / 10 + "." + capability % 10
                + ", but bfloat16 on the tensor cores needs 8.0 (Ampere) or later: use --engine cpu here";
    }

    private static String release(int version) {
        return version / 1000 + "." + version % 1000 / 10;
    }

    /** The card's name. */
    public String name() {
        return name;
    }

    /** What no other card in the world has. */
    public String uuid() {
        return uuid;
    }

    /** The driver's own functions. */
    public Native functions() {
        return library;
    }

    int ordinal() {
        return ordinal;
    }

    /** 10 major + minor. */
    public int capability() {
        return capability;
    }

    /** The major CUDA release that the driver supports. */
    public int release() {
        return version / 1000;
    }

    /** The newest library of that name, say {@code libnvrtc.so}, that this machine has and this driver works with. */
    public Native library(String stem) {
        return Library.find(stem, 0, release(), Library.folders(System.getenv(), Path.of("/")))
                .open();
    }

    /** cuSOLVER, whose own releases are numbered one behind CUDA's. */
    public Native solver() {
        try {
            return Library.find("libcusolver.so", 1, release(), Library.folders(System.getenv(), Path.of("/")))
                    .open();
        } catch (EngineException e) {
            throw new EngineException("the direction soap needs cuSOLVER: " + e.getMessage(), e);
        }
    }

    /** Bytes of shared memory that a block may ask for. */
    public int shared() {
        return shared;
    }

    public int multiprocessors() {
        return multiprocessors;
    }

    void check(String function, Object... values) {
        int status = library.call(function, values);
        if (status != 0) {
            throw new EngineException(function + " failed" + (name == null ? "" : " on " + name) + ": "
                    + describe(status)
                    + switch (status) {
                        case 2 -> "; close what else uses the card, or lower the batch";
                        case 100, 101 -> "; is CUDA_VISIBLE_DEVICES right?";
                        case 200, 209, 218, 222, 223 ->
                            "; the driver (CUDA " + release(version) + ") may be older than NVRTC: update the driver";
                        default -> "";
                    });
        }
    }

    private String describe(int status) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocate(ADDRESS);
            return library.call("cuGetErrorName", status, text) == 0
                    ? text.get(ADDRESS, 0).reinterpret(256).getString(0) + " (" + status + ")"
                    : "error " + status;
        }
    }

    private int attribute(MemorySegment out, int attribute) {
        check("cuDeviceGetAttribute", out, attribute, ordinal);
        return out.get(JAVA_INT, 0);
    }

    private static void require(boolean holds, String message) {
        if (!holds) {
            throw new EngineException(message);
        }
    }
}
