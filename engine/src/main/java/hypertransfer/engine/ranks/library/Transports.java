package hypertransfer.engine.ranks.library;

import hypertransfer.engine.EngineException;
import hypertransfer.engine.Status;
import hypertransfer.engine.foreign.Library;
import hypertransfer.engine.foreign.Native;
import hypertransfer.engine.ranks.Alone;
import hypertransfer.engine.ranks.Exchange;
import hypertransfer.engine.ranks.Ranks;
import hypertransfer.engine.ranks.Ranks.Transport;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/** What can carry bytes between ranks on this machine. */
public final class Transports {
    private Transports() {}

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
                        () -> "NCCL " + nccl(environment).version()));
    }

    private static NcclLibrary nccl(Map<String, String> environment) {
        return NcclLibrary.load(Library.folders(environment, Path.of("/")));
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
        Ranks alone = new Alone();
        return Launcher.here().several()
                ? new Mpi(OpenMpi.load(System.getenv()), alone.limit(), Arena::ofConfined)
                : alone;
    }

    /**
     * What carries the memory of cards.
     *
     * @param card what no other card has
     * @param cuda the driver's functions, with the card's context current in this thread
     */
    public static Exchange onCards(Ranks ranks, Transport choice, String card, Native cuda, long stream) {
        if (choice == Transport.MPI || choice == Transport.AUTO && ranks.size() == 1) {
            return ranks;
        }
        NcclLibrary nccl = null;
        String missing = "";
        try {
            nccl = nccl(System.getenv());
        } catch (EngineException e) {
            missing = e.getMessage();
        }
        String obstacle = obstacle(ranks.texts(card + "\n" + missing));
        if (obstacle.isEmpty()) {
            return new Nccl(ranks, nccl, cuda, stream);
        }
        if (choice == Transport.NCCL) {
            throw new EngineException("ranks.transport is nccl, but " + obstacle);
        }
        return ranks;
    }

    /** Why NCCL cannot carry between these ranks, each a card and what it misses; empty where it can. */
    static String obstacle(List<String> ranks) {
        Map<String, Integer> cards = new HashMap<>();
        for (int rank = 0; rank < ranks.size(); rank++) {
            String[] said = ranks.get(rank).split("\n", 2);
            if (!said[1].isEmpty()) {
                return "at rank " + rank + " " + said[1];
            }
            Integer other = cards.put(said[0], rank);
            if (other != null) {
                return "ranks " + other + " and " + rank
                        + " have the same card, which NCCL refuses; start as many ranks as"
                        + " there are cards, or set ranks.transport to mpi";
            }
        }
        return "";
    }
}
