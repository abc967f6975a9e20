package hypertransfer.engine.ranks.library;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import hypertransfer.engine.EngineException;
import hypertransfer.engine.foreign.Functions;
import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** NCCL's library, version 2.14 or later: the first whose calls do not block. */
final class NcclLibrary {
    static final int ID_BYTES = 128; // NCCL_UNIQUE_ID_BYTES
    static final int IN_PROGRESS = 7; // ncclInProgress
    static final int BYTES = 0; // ncclInt8
    private static final String NAME = "libnccl.so.2";
    private static final int LEAST = 21400;

    private final Functions symbols;
    private final int version;

    NcclLibrary(Functions symbols) {
        this.symbols = symbols;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment out = arena.allocate(JAVA_INT);
            check("ncclGetVersion", out);
            version = out.get(JAVA_INT, 0);
        }
        if (version < LEAST) {
            throw new EngineException("NCCL is " + version() + " (" + symbols.name() + "), but 2.14 or newer is needed;"
                    + " update it, or name the folder of a newer one in LD_LIBRARY_PATH");
        }
        MemoryLayout id = MemoryLayout.structLayout(MemoryLayout.sequenceLayout(ID_BYTES, JAVA_BYTE));
        symbols.declare("ncclCommInitRankConfig", ADDRESS, JAVA_INT, id, JAVA_INT, ADDRESS);
    }

    /** Finds the library where the system's loader looks, then in these folders. */
    static NcclLibrary load(List<Path> folders) {
        List<String> places = new ArrayList<>(List.of(NAME));
        folders.forEach(folder -> places.add(folder.resolve(NAME).toString()));
        return Functions.first(places)
                .map(NcclLibrary::new)
                .orElseThrow(() -> new EngineException("NCCL was not found: no " + NAME
                        + " where the system's loader looks, nor in "
                        + (folders.isEmpty() ? "any folder of CUDA or PyTorch" : folders)
                        + "; install libnccl2 or PyTorch with CUDA, or name its folder in LD_LIBRARY_PATH"));
    }

    String version() {
        int major = version < 10000 ? 1000 : 10000; // 2.8.4 says 2804, 2.9.1 says 20901
        return version / major + "." + version % major / 100 + "." + version % 100;
    }

    /** A number that says which communicator a rank belongs to; rank 0 makes it, all use it. */
    byte[] identifier() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment id = arena.allocate(ID_BYTES);
            check("ncclGetUniqueId", id);
            return id.toArray(JAVA_BYTE);
        }
    }

    /**
     * The configuration of a communicator whose calls do not block, as version 2.14 had it: a library gives the fields
     * that came later their own defaults.
     */
    static MemorySegment nonBlocking(Arena arena) {
        MemorySegment configuration = arena.allocate(24, 8);
        configuration.set(JAVA_INT, 0, 24); // size, of which the upper half is zero
        configuration.set(JAVA_INT, 8, 0xcafebeef);
        configuration.set(JAVA_INT, 12, LEAST);
        configuration.set(JAVA_INT, 16, 0); // blocking
        return configuration;
    }

    int call(String function, Object... arguments) {
        return symbols.call(function, arguments);
    }

    /** Calls a function; a call under way is as good as one that succeeded. */
    void check(String function, Object... arguments) {
        int status = symbols.call(function, arguments);
        if (status != 0 && status != IN_PROGRESS) {
            throw failed(function, status);
        }
    }

    EngineException failed(String function, int status) {
        return new EngineException(function + " of " + symbols.name() + " failed: " + describe(status)
                + "; NCCL_DEBUG=INFO prints what NCCL did before");
    }

    /** ncclResult_t's meaning, which the library tells only by a function that returns a text. */
    static String describe(int status) {
        return switch (status) {
            case 1 -> "a CUDA call failed (1)";
            case 2 -> "a system call failed (2)";
            case 3 -> "internal error (3)";
            case 4 -> "invalid argument (4)";
            case 5 -> "invalid usage (5)";
            case 6 -> "another rank or the network failed (6)";
            case IN_PROGRESS -> "still in progress (7)";
            default -> "error " + status;
        };
    }
}
