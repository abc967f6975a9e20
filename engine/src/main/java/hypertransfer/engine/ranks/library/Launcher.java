package hypertransfer.engine.ranks.library;

import hypertransfer.engine.EngineException;
import java.util.List;
import java.util.Map;

/**
 * Who started this process, as the environment tells.
 *
 * @param several whether it is one of several ranks, or of one started by mpirun
 * @param rank its number among them
 * @param local its number among those on this host, which chooses the card
 */
public record Launcher(boolean several, int rank, int local) {
    static final Launcher NONE = new Launcher(false, 0, 0);

    /** Refuses launchers whose ranks could not find each other: each would train the whole run by itself. */
    static Launcher of(Map<String, String> environment) {
        int tasks = number(environment, 1, "SLURM_STEP_NUM_TASKS");
        if (environment.containsKey("OMPI_COMM_WORLD_RANK") || environment.containsKey("PMIX_RANK")) {
            return new Launcher(
                    true,
                    number(environment, 0, "OMPI_COMM_WORLD_RANK", "PMIX_RANK"),
                    number(environment, 0, "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"));
        }
        if (tasks > 1) {
            throw new EngineException("srun started " + tasks + " tasks without PMIx, so they cannot find each other;"
                    + " use 'srun --mpi=pmix', or Open MPI's mpirun inside the allocation");
        }
        int size = number(environment, 1, "PMI_SIZE");
        if (size > 1) {
            throw new EngineException("the launcher of another MPI than Open MPI started " + size
                    + " ranks (PMI_SIZE is set); use Open MPI 4 or 5: 'mpirun --version' must say Open MPI");
        }
        return NONE;
    }

    public static Launcher here() {
        return of(System.getenv());
    }

    /** The first of these variables that is set. */
    private static int number(Map<String, String> environment, int otherwise, String... names) {
        for (String name : List.of(names)) {
            String value = environment.get(name);
            if (value != null) {
                try {
                    return Integer.parseInt(value);
                } catch (NumberFormatException e) {
                    throw new EngineException(
                            name + " is '" + value + "', and should be a number; unset it, or start" + " with mpirun");
                }
            }
        }
        return otherwise;
    }
}
