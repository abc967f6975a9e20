package hypertransfer.engine.ranks.library;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import hypertransfer.engine.EngineException;
import hypertransfer.engine.foreign.Functions;
import hypertransfer.engine.foreign.Library;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Open MPI's library, version 4 or 5. Its handles are the addresses of exported variables; other brands have numbers
 * there, so another brand is refused by name instead of called.
 *
 * @param world the communicator of all ranks
 * @param bytes the type of what is carried
 * @param version {@code Open MPI 4.1.4}, say
 */
record OpenMpi(Functions symbols, MemorySegment world, MemorySegment bytes, String version) {
    private static final List<String> NAMES = List.of("libmpi.so.40", "libmpi.40.dylib");
    private static final List<String> OTHERS = List.of("libmpi.so.12", "libmpich.so.12", "libmpi.12.dylib");
    private static final String INSTALL =
            "install Open MPI 4 or 5 (apt install openmpi-bin libopenmpi3), or name its folder in LD_LIBRARY_PATH";

    /** Finds the library where the system's loader looks, then beside mpirun; refuses one of another brand. */
    static OpenMpi load(Map<String, String> environment) {
        List<String> places = new ArrayList<>(NAMES);
        for (Path folder : folders(environment)) {
            NAMES.forEach(name -> places.add(folder.resolve(name).toString()));
        }
        places.addAll(OTHERS);
        return Functions.first(places)
                .map(OpenMpi::of)
                .orElseThrow(() -> new EngineException("Open MPI was not found: no " + NAMES.getFirst()
                        + " where the system's loader looks, nor beside mpirun; " + INSTALL));
    }

    static OpenMpi of(Functions symbols) {
        if (!symbols.has("ompi_mpi_comm_world") || !symbols.has("ompi_mpi_byte")) {
            String brand = symbols.has("MPI_Get_library_version") ? version(symbols) : "no MPI at all";
            throw new EngineException(
                    symbols.name() + " is " + brand + ", whose handles are not Open MPI's; " + INSTALL);
        }
        MemorySegment world = symbols.address("ompi_mpi_comm_world"), bytes = symbols.address("ompi_mpi_byte");
        return new OpenMpi(symbols, world, bytes, version(symbols));
    }

    /** {@code Open MPI 4.1.4}, or the first words of what another brand says. */
    private static String version(Functions symbols) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocate(8192), length = arena.allocate(JAVA_INT);
            symbols.call("MPI_Get_library_version", text, length);
            return text.getString(0)
                    .split("[,\n]")[0]
                    .replaceFirst("^Open MPI v", "Open MPI ")
                    .strip();
        }
    }

    /** Calls a function and turns any other status than success into a sentence. */
    void check(String function, Object... arguments) {
        int status = symbols.call(function, arguments);
        if (status != 0) {
            throw new EngineException(function + " of " + version + " failed: " + describe(status)
                    + "; another rank may have ended: its message, or the launcher's, says why");
        }
    }

    String describe(int status) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocate(1024), length = arena.allocate(JAVA_INT);
            return symbols.call("MPI_Error_string", status, text, length) == 0
                    ? text.getString(0).strip()
                    : "error " + status;
        }
    }

    /**
     * Open MPI would put handlers on SIGSEGV and its like, which the JVM uses itself. Its setting is read from the
     * environment of this process, which Java cannot change.
     */
    static void leaveSignalsToTheJvm() {
        try (Arena arena = Arena.ofConfined()) {
            Functions.system().call("setenv", arena.allocateFrom("OMPI_MCA_opal_signal"), arena.allocateFrom(""), 1);
        }
    }

    /** Where an install that the loader does not know keeps its libraries. */
    static List<Path> folders(Map<String, String> environment) {
        List<Path> folders = new ArrayList<>();
        for (String home : List.of("MPI_HOME", "OPAL_PREFIX")) {
            Library.paths(environment, home).forEach(install -> folders.add(install.resolve("lib")));
        }
        for (Path folder : Library.paths(environment, "PATH")) {
            Path mpirun = folder.resolve("mpirun").toAbsolutePath();
            if (Files.isExecutable(mpirun) && mpirun.getNameCount() > 2) {
                folders.add(mpirun.getParent().resolveSibling("lib"));
            }
        }
        return folders.stream().filter(Files::isDirectory).distinct().toList();
    }
}
