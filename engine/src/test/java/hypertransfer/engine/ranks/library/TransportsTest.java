package hypertransfer.engine.ranks.library;

import static hypertransfer.engine.Refused.refused;
import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.provider.Engines;
import hypertransfer.engine.ranks.Alone;
import hypertransfer.engine.ranks.Ranks;
import hypertransfer.engine.ranks.Ranks.Transport;
import java.util.List;
import org.junit.jupiter.api.Test;

class TransportsTest {
    @Test
    void ncclNeedsACardPerRank() {
        assertThat(Transports.obstacle(List.of("a\n", "b\n", "c\n"))).isEmpty();
        assertThat(Transports.obstacle(List.of("a\n", "b\n", "a\n")))
                .startsWith("ranks 0 and 2 have the same card")
                .contains("ranks.transport");
        assertThat(Transports.obstacle(List.of("a\n", "b\nNCCL is not there: look\nelsewhere")))
                .isEqualTo("at rank 1 NCCL is not there: look\nelsewhere");
    }

    @Test
    void anEngineWithoutCardsOrOtherRanksHasNoUseForIt() {
        Ranks alone = new Alone();
        try (Engine engine = Engines.open("reference", new Dims(1, 2, 4, 4, 4))) {
            for (Transport without : List.of(Transport.AUTO, Transport.MPI)) {
                assertThat(engine.transport(alone, without)).isSameAs(alone);
                assertThat(Transports.onCards(alone, without, "a", null, 0))
                        .as("one rank")
                        .isSameAs(alone);
            }
            refused(() -> engine.transport(alone, Transport.NCCL), "the engine is reference; set it to auto or mpi");
        }
    }
}
