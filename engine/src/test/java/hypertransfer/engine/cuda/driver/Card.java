package hypertransfer.engine.cuda.driver;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import hypertransfer.engine.foreign.Native;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Pattern;

/**
 * A card for machines without one: the driver, the compiler, cuBLASLt and cuSOLVER as far as the engine calls them. It computes
 * nothing, but knows what was launched and what was not given back, and fails where a test wants it to.
 */
public final class Card implements Native {
    /** What one launch of a kernel was given. */
    public record Launched(String kernel, Launch launch, long[] words) {}

    private static final Predicate<String> TAKES = Pattern.compile(
                    ".*Create|cuDevicePrimaryCtxRetain|cuMemAlloc_v2|cuModuleLoadData|cuGraphInstantiateWithFlags")
            .asMatchPredicate();
    private static final Predicate<String> GIVES_BACK = Pattern.compile(
                    ".*Destroy(_v2)?|cuMemFree_v2|cuMemFreeHost|cuModuleUnload")
            .asMatchPredicate();

    private static final MemorySegment IMAGE = MemorySegment.ofArray(new byte[] {3, 1, 4, 1});

    /** How often a text was compiled. */
    public int compiled;
    /** Bytes that are free, whatever is allocated. */
    public long available = 140L << 30;
    /** What the next timings of a product's candidates take; 1 when used up. */
    public final List<Float> milliseconds = new ArrayList<>();

    public final Set<String> failing = new HashSet<>();
    public final List<Launched> launched = new ArrayList<>();
    /** What the copy engine was told of matrices: rows x panels of 64 columns, in boxes of so many. */
    public final List<String> mapped = new ArrayList<>();

    /** The first byte of the algorithm of each product that was run. */
    public final List<Integer> algorithms = new ArrayList<>();
    /** The algorithm that fails; 0 for none. */
    public int refused;

    private final Map<Long, String> held = new HashMap<>();
    private final Map<Long, String> functions = new HashMap<>();
    private final List<MemorySegment> hosts = new ArrayList<>();
    private long handles = 1 << 20; // aligned as the driver aligns memory

    public Driver driver() {
        return Driver.of(this, 0);
    }

    /** The functions that took something which was not given back. */
    public List<String> held() {
        return List.copyOf(held.values());
    }

    @Override
    public String name() {
        return "a card of the test's";
    }

    @Override
    public synchronized int call(String function, Object... a) {
        if (failing.contains(function)) {
            return 719;
        }
        switch (function) {
            case "cuDriverGetVersion" -> out(a, 0).set(JAVA_INT, 0, 13000);
            case "cuDeviceGetCount" -> out(a, 0).set(JAVA_INT, 0, 1);
            case "cuDeviceGetName" -> out(a, 0).setString(0, "Card");
            case "cuDeviceGetAttribute" ->
                out(a, 0)
                        .set(
                                JAVA_INT,
                                0,
                                switch ((int) a[1]) {
                                    case 75 -> 9;
                                    case 97 -> 227 * 1024;
                                    case 16 -> 132;
                                    default -> 0;
                                });
            case "cuGetErrorName" -> out(a, 1).set(ADDRESS, 0, host(16));
            case "cuMemGetInfo_v2" -> out(a, 0).set(JAVA_LONG, 0, available);
            case "cuMemAllocHost_v2" -> {
                out(a, 0).set(ADDRESS, 0, host((long) a[1]));
                held.put(out(a, 0).get(JAVA_LONG, 0), function);
            }
            case "nvrtcCompileProgram" -> compiled++;
            case "nvrtcGetCUBIN" -> out(a, 1).copyFrom(IMAGE);
            case "cuModuleLoadData" -> {
                if (out(a, 1).mismatch(IMAGE) >= 0) {
                    return 200; // CUDA_ERROR_INVALID_IMAGE
                }
                take(function, out(a, 0));
            }
            case String f when TAKES.test(f) -> take(function, out(a, 0));
            case "cuStreamEndCapture" -> take(function, out(a, 1));
            case String f when GIVES_BACK.test(f) -> give(held.containsKey((long) a[0]), (long) a[0]);
            case "cuDevicePrimaryCtxRelease_v2" -> held.values().remove("cuDevicePrimaryCtxRetain");
            case "cuEventElapsedTime" ->
                out(a, 0).set(JAVA_FLOAT, 0, milliseconds.isEmpty() ? 1 : milliseconds.removeFirst());
            case "cuModuleGetFunction" -> {
                handles += 512;
                functions.put(handles, out(a, 2).getString(0));
                out(a, 0).set(JAVA_LONG, 0, handles);
            }
            case "cuLaunchKernel" -> launch(a);
            case "cuTensorMapEncodeTiled" ->
                mapped.add(out(a, 4).getAtIndex(JAVA_LONG, 1) + "x" + out(a, 4).getAtIndex(JAVA_LONG, 2) + " in "
                        + out(a, 6).getAtIndex(JAVA_INT, 1) + "x" + out(a, 6).getAtIndex(JAVA_INT, 2));
            case "nvrtcVersion" -> out(a, 0).set(JAVA_INT, 0, 13);
            case "nvrtcGetNumSupportedArchs" -> out(a, 0).set(JAVA_INT, 0, 1);
            case "nvrtcGetSupportedArchs" -> out(a, 0).set(JAVA_INT, 0, 90);
            case "nvrtcGetCUBINSize" -> out(a, 1).set(JAVA_LONG, 0, 4);
            case "cublasLtGetVersion" -> {
                return 130000;
            }
            case "cublasLtMatmulAlgoGetHeuristic" -> {
                for (int i = 0; i < 3; i++) {
                    out(a, 8).set(JAVA_BYTE, 96L * i, (byte) (i + 1));
                }
                out(a, 9).set(JAVA_INT, 0, 3);
            }
            case "cublasLtMatmul" -> {
                int algorithm = out(a, 12).get(JAVA_BYTE, 0);
                if (algorithm == refused) {
                    return 15;
                }
                algorithms.add(algorithm);
            }
            default -> {} // succeeds, and nobody looks at what it did
        }
        return 0;
    }

    private void launch(Object[] a) {
        launched.add(new Launched(
                functions.get((long) a[0]),
                new Launch((int) a[1], (int) a[2], (int) a[3], (int) a[4], (int) a[5], (int) a[7]),
                words(out(a, 10))));
    }

    /** None where each argument has a pointer of its own, since only the driver knows how many there are. */
    private static long[] words(MemorySegment extra) {
        if (extra.address() == 0) {
            return new long[0];
        }
        long bytes = extra.getAtIndex(ADDRESS, 3).reinterpret(8).get(JAVA_LONG, 0);
        return extra.getAtIndex(ADDRESS, 1).reinterpret(bytes).toArray(JAVA_LONG);
    }

    private static MemorySegment out(Object[] arguments, int i) {
        return (MemorySegment) arguments[i];
    }

    private MemorySegment host(long bytes) {
        MemorySegment host = Arena.ofAuto().allocate(bytes);
        hosts.add(host);
        return host;
    }

    private void take(String function, MemorySegment out) {
        handles += 512;
        held.put(handles, function);
        out.set(JAVA_LONG, 0, handles);
    }

    private void give(boolean there, long handle) {
        if (!there) {
            throw new IllegalStateException(handle + " was given back twice, or never taken");
        }
        held.remove(handle);
    }
}
