package hypertransfer.engine.ranks;

import hypertransfer.engine.EngineException;
import hypertransfer.engine.cuda.driver.Library;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/** What can carry bytes between ranks on this machine. */
public final class Carriers {
    private static final Duration LIMIT = Duration.ofMinutes(10);

    private Carriers() {}

    /**
     * What a carrier is like here.
     *
     * @param missing what would make it work; empty where it does
     */
    public record Status(String name, String description, String missing) {
        public boolean works() {
            return missing.isEmpty();
        }
    }

    /** Looks for the libraries, and starts none of them. */
    public static List<Status> survey() {
        return survey(System.getenv());
    }

    static List<Status> survey(Map<String, String> environment) {
        return List.of(
                status(
                        "mpi",
                        "several processes, on one host or many",
                        () -> OpenMpi.load(environment).version()),
                status(
                        "nccl",
                        "cards that exchange without the host",
                        () -> "NCCL "
                                + NcclLibrary.load(Library.folders(environment, Path.of("/")))
                                        .version()));
    }

    private static Status status(String name, String what, Supplier<String> version) {
        try {
            return new Status(name, version.get() + ": " + what, "");
        } catch (EngineException e) {
            return new Status(name, what, e.getMessage());
        }
    }

    /** The ranks that this process is one of: itself if nobody started it with others. */
    public static Ranks open() {
        return Launcher.here().several() ? Mpi.open(System.getenv(), LIMIT) : new Alone();
    }
}
