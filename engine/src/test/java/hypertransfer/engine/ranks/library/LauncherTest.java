package hypertransfer.engine.ranks.library;

import static hypertransfer.engine.Refused.refused;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;

class LauncherTest {
    @Test
    void withoutALauncherAProcessIsByItself() {
        assertThat(Launcher.of(Map.of())).isEqualTo(Launcher.NONE);
        // a batch script of Slurm's runs inside an allocation of many tasks, and is one process
        assertThat(Launcher.of(Map.of("SLURM_NTASKS", "8", "SLURM_PROCID", "0")))
                .isEqualTo(Launcher.NONE);
        assertThat(Launcher.of(Map.of("PMI_SIZE", "1", "PMI_RANK", "0"))).isEqualTo(Launcher.NONE);
    }

    @Test
    void openMpiAndPmixStartRanks() {
        assertThat(Launcher.of(Map.of("OMPI_COMM_WORLD_RANK", "9", "OMPI_COMM_WORLD_LOCAL_RANK", "1")))
                .isEqualTo(new Launcher(true, 9, 1));
        assertThat(Launcher.of(Map.of("PMIX_RANK", "9", "SLURM_LOCALID", "1", "SLURM_STEP_NUM_TASKS", "16")))
                .isEqualTo(new Launcher(true, 9, 1));
    }

    @Test
    void ranksThatCannotFindEachOtherAreRefused() {
        refused(
                () -> Launcher.of(Map.of("SLURM_STEP_NUM_TASKS", "16", "SLURM_PROCID", "3")),
                "srun started 16 tasks without PMIx",
                "srun --mpi=pmix");
        refused(
                () -> Launcher.of(Map.of("PMI_SIZE", "4", "PMI_RANK", "2")),
                "another MPI than Open MPI started 4 ranks");
        refused(() -> Launcher.of(Map.of("PMIX_RANK", "many")), "PMIX_RANK is 'many'");
    }
}
