package hypertransfer.engine.cuda.driver;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import hypertransfer.engine.EngineException;
import hypertransfer.engine.foreign.Native;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.stream.IntStream;

/** CUDA's compiler as a library: from a kernel's text to what a card runs. Safe to call from several threads. */
public record Nvrtc(Native library) {
    /** 1000 major + minor. */
    public int version() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment major = arena.allocate(JAVA_INT), minor = arena.allocate(JAVA_INT);
            check("nvrtcVersion", major, minor);
            return 1000 * major.get(JAVA_INT, 0) + minor.get(JAVA_INT, 0);
        }
    }

    /** The newest target that this compiler knows and the card runs, 10 major + minor. */
    public int target(int capability) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment count = arena.allocate(JAVA_INT);
            check("nvrtcGetNumSupportedArchs", count);
            MemorySegment targets = arena.allocate(JAVA_INT, count.get(JAVA_INT, 0));
            check("nvrtcGetSupportedArchs", targets);
            return IntStream.of(targets.toArray(JAVA_INT))
                    .filter(target -> target <= capability)
                    .max()
                    .orElse(0);
        }
    }

    /**
     * Machine code where the compiler knows the card itself, else PTX, which the driver translates.
     *
     * @param name what errors call the text
     */
    public byte[] compile(String name, String source, int capability) {
        int target = target(capability);
        boolean exact = target == capability;
        String more = target == 90 ? "a" : ""; // the products of warp groups
        String architecture = exact ? "sm_" + target + more : "compute_" + target;
        List<String> options = List.of("--gpu-architecture=" + architecture, "--std=c++17");
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment program = arena.allocate(ADDRESS);
            MemorySegment text = arena.allocateFrom(source),
                    title = arena.allocateFrom(name),
                    none = MemorySegment.NULL;
            check("nvrtcCreateProgram", program, text, title, 0, none, none);
            long handle = program.get(JAVA_LONG, 0);
            MemorySegment pointers = arena.allocate(ADDRESS, options.size());
            for (int i = 0; i < options.size(); i++) {
                pointers.setAtIndex(ADDRESS, i, arena.allocateFrom(options.get(i)));
            }
            try {
                if (library.call("nvrtcCompileProgram", handle, options.size(), pointers) != 0) {
                    byte[] log = result(arena, handle, "nvrtcGetProgramLog");
                    throw new EngineException(library.name() + " cannot compile " + name + ":\n" + new String(log));
                }
                return result(arena, handle, exact ? "nvrtcGetCUBIN" : "nvrtcGetPTX");
            } finally {
                check("nvrtcDestroyProgram", program);
            }
        }
    }

    private byte[] result(Arena arena, long program, String what) {
        MemorySegment size = arena.allocate(JAVA_LONG);
        check(what + "Size", program, size);
        MemorySegment bytes = arena.allocate(size.get(JAVA_LONG, 0));
        check(what, program, bytes);
        return bytes.toArray(JAVA_BYTE);
    }

    private void check(String function, Object... values) {
        int status = library.call(function, values);
        if (status != 0) {
            throw new EngineException(function + " of " + library.name() + " failed with status " + status);
        }
    }
}
