package hypertransfer.engine.cuda.driver;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import hypertransfer.engine.EngineException;
import hypertransfer.engine.foreign.Functions;
import hypertransfer.engine.foreign.Library;
import hypertransfer.engine.foreign.Native;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.HexFormat;

/**
 * NVIDIA's driver and one of the cards it shows, if both are new enough. Nothing of the card is taken yet.
 *
 * @param functions the driver's own
 * @param version of CUDA that the driver supports, 1000 major + 10 minor
 * @param uuid what no other card in the world has
 * @param name the card's
 * @param capability 10 major + minor
 * @param shared bytes of shared memory that a block may ask for
 */
public record Driver(
        Native functions,
        int version,
        int ordinal,
        String uuid,
        String name,
        int capability,
        int shared,
        int multiprocessors) {
    static final int LEAST_RELEASE = 12000;
    static final int LEAST_CAPABILITY = 80;

    private static final String FILE = "libcuda.so.1";
    private static final int MULTIPROCESSORS = 16, MAJOR = 75, MINOR = 76, SHARED = 97; // CU_DEVICE_ATTRIBUTE_...

    /** The driver that the system's loader finds, with the card of this number, counted in a circle. */
    public static Driver open(int card) {
        return Functions.open(FILE)
                .map(functions -> of(functions, card))
                .orElseThrow(() -> new EngineException(
                        "no NVIDIA driver: the system's loader does not find libcuda.so.1; install driver 525 or later, "
                                + "or run on a machine with an NVIDIA card"));
    }

    static Driver of(Native functions, int card) {
        Driver any = new Driver(functions, 0, 0, "", "", 0, 0, 0); // whose failures name no card yet
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment out = arena.allocate(256, 8);
            any.check("cuInit", 0);
            int version = any.number(out, "cuDriverGetVersion", out);
            require(version >= LEAST_RELEASE, tooOld(version));
            int cards = any.number(out, "cuDeviceGetCount", out);
            require(cards > 0, "the driver sees no CUDA device; is CUDA_VISIBLE_DEVICES empty?");
            int ordinal = any.number(out, "cuDeviceGet", out, card % cards);
            any.check("cuDeviceGetUuid_v2", out, ordinal);
            String uuid = HexFormat.of().formatHex(out.asSlice(0, 16).toArray(JAVA_BYTE));
            any.check("cuDeviceGetName", out, 256, ordinal);
            Driver named = new Driver(functions, version, ordinal, uuid, out.getString(0), 0, 0, 0);
            int capability = 10 * named.attribute(out, MAJOR) + named.attribute(out, MINOR);
            require(capability >= LEAST_CAPABILITY, tooSmall(named.name, capability));
            int shared = named.attribute(out, SHARED), multiprocessors = named.attribute(out, MULTIPROCESSORS);
            return new Driver(functions, version, ordinal, uuid, named.name, capability, shared, multiprocessors);
        }
    }

    static String tooOld(int version) {
        return "the NVIDIA driver supports CUDA " + release(version)
                + ", but 12.0 or newer is needed: install driver 525 or later";
    }

    static String tooSmall(String card, int capability) {
        return card + " has compute capability " + capability / 10 + "." + capability % 10
                + ", but bfloat16 on the tensor cores needs 8.0 (Ampere) or later: use --engine cpu here";
    }

    private static String release(int version) {
        return version / 1000 + "." + version % 1000 / 10;
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

    void check(String function, Object... values) {
        int status = functions.call(function, values);
        if (status != 0) {
            throw new EngineException(function + " failed" + (name.isEmpty() ? "" : " on " + name) + ": "
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
            return functions.call("cuGetErrorName", status, text) == 0
                    ? text.get(ADDRESS, 0).reinterpret(256).getString(0) + " (" + status + ")"
                    : "error " + status;
        }
    }

    private int attribute(MemorySegment out, int attribute) {
        return number(out, "cuDeviceGetAttribute", out, attribute, ordinal);
    }

    /** What a function writes. */
    private int number(MemorySegment out, String function, Object... values) {
        check(function, values);
        return out.get(JAVA_INT, 0);
    }

    private static void require(boolean holds, String message) {
        if (!holds) {
            throw new EngineException(message);
        }
    }
}
