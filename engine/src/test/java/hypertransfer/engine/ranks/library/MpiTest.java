package hypertransfer.engine.ranks.library;

import static hypertransfer.engine.Refused.refused;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.engine.foreign.Functions;
import hypertransfer.engine.ranks.Alone;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Real processes under a real mpirun, over the loopback; skipped where there is none. */
class MpiTest {
    @Test
    void everyRankHearsEveryOther() throws Exception {
        int size = 4;
        Mpirun run = Mpirun.of(size, Talk.class, "talk");
        assertThat(run.exit()).as(run.output()).isZero();
        String names = "";
        for (int rank = 0; rank < size; rank++) {
            names += (rank == 0 ? "" : ", ") + "rank " + rank + " of " + "x".repeat(rank);
        }
        for (int rank = 0; rank < size; rank++) {
            assertThat(run.output())
                    .containsPattern("rank " + rank + " of " + size + " by Open MPI [45]\\.[0-9.a-z]+: \\[" + names
                            + "\\] " + (size - 1) + ".0 0.1 true false\n");
        }
    }

    @Test
    void aRankThatDoesNotAnswerEndsAllAfterTheLimit() throws Exception {
        Mpirun run = Mpirun.of(2, Talk.class, "sleep");
        assertThat(run.exit()).as(run.output()).isEqualTo(7);
        assertThat(run.output()).contains("rank 0 waited 1 s for rank 1 of 2").contains("run the same command again");
    }

    /** Rank 0 of two, to which the other never speaks, or says that it has nothing to say. */
    private static final class Silent extends Fake {
        boolean answers = true;

        Silent() {
            super(
                    "MPI_Init_thread(AAIA)",
                    "MPI_Comm_set_errhandler(AA)",
                    "MPI_Comm_rank(AA)", // zero, as the memory is
                    "MPI_Irecv(AIAIIAA)",
                    "MPI_Isend(AIAIIAA)",
                    "MPI_Get_library_version(AA)",
                    "ompi_mpi_comm_world()",
                    "ompi_mpi_byte()",
                    "ompi_mpi_errors_return()");
        }

        public int MPI_Comm_size(MemorySegment world, MemorySegment out) {
            out.reinterpret(4).set(JAVA_INT, 0, 2);
            return 0;
        }

        public int MPI_Test(MemorySegment request, MemorySegment flag, MemorySegment status) {
            flag.reinterpret(4).set(JAVA_INT, 0, answers ? 1 : 0);
            return 0;
        }
    }

    /** It was freed, while MPI could still write to it. */
    @Test
    void memoryThatAMessageMayStillArriveInIsNotFreed() {
        Silent library = new Silent();
        List<Arena> arenas = new ArrayList<>();
        Mpi mpi = new Mpi(OpenMpi.of(new Functions("libmpi.so.40", library.lookup())), Duration.ofMillis(20), () -> {
            arenas.add(Arena.ofShared());
            return arenas.getLast();
        });
        assertThat(mpi.all(new byte[0])).hasSize(2);
        assertThat(arenas).isNotEmpty().noneMatch(arena -> arena.scope().isAlive());
        arenas.clear();
        library.answers = false;
        refused(() -> mpi.all(new byte[3]), "for rank 1 of 2");
        assertThat(arenas).hasSize(2).allMatch(arena -> arena.scope().isAlive());
    }

    @Test
    void anotherBrandIsRefusedByName() {
        Fake mpich = new Fake() {
            public int MPI_Get_library_version(MemorySegment text, MemorySegment length) {
                text.reinterpret(64).setString(0, "MPICH Version:\t4.0.2\nMPICH Release date");
                return 0;
            }
        };
        refused(
                () -> OpenMpi.of(new Functions("libmpi.so.12", mpich.lookup())),
                "libmpi.so.12 is MPICH Version:\t4.0.2, whose handles are not Open MPI's",
                "install Open MPI 4 or 5");
        SymbolLookup nothing = name -> Optional.empty();
        refused(() -> OpenMpi.of(new Functions("libmpi.so.40", nothing)), "libmpi.so.40 is no MPI at all");
    }

    @Test
    void theSurveyStartsNothing() {
        assertThat(Transports.survey(Map.of()))
                .anySatisfy(status -> assertThat(status.name()).isEqualTo("mpi"))
                .allSatisfy(status ->
                        assertThat(status.description() + status.missing()).isNotBlank());
    }

    @Test
    void aloneIsRankZeroOfOne() {
        try (Alone alone = new Alone()) {
            assertThat(alone.texts("me")).containsExactly("me");
            assertThat(alone.numbers(1.5, -0.0).getFirst()).containsExactly(1.5, -0.0);
            assertThat(alone.any(true)).isTrue();
            assertThat(alone.any(false)).isFalse();
            assertThat(alone.buffer(16).byteSize()).isEqualTo(16);
        }
    }
}
