package hypertransfer.engine.ranks;

import hypertransfer.engine.EngineException;
import java.time.Duration;
import java.util.List;
import java.util.Map;

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
        return List.of(status("mpi", () -> OpenMpi.load(environment).version()));
    }

    private interface Found {
        String version();
    }

    private static Status status(String name, Found found) {
        try {
            return new Status(name, found.version(), "");
        } catch (EngineException e) {
            return new Status(name, "", e.getMessage());
        }
    }

    /** The ranks that this process is one of: itself if nobody started it with others. */
    public static Ranks open() {
        return Launcher.here().several() ? Mpi.open(System.getenv(), LIMIT) : new Alone();
    }
}
