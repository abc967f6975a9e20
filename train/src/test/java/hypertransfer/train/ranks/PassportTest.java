package hypertransfer.train.ranks;

import static hypertransfer.train.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class PassportTest {
    @Test
    void theKeyThatDiffersIsNamedAtEveryRank() throws Exception {
        AtomicInteger refused = new AtomicInteger();
        Threads.run(3, ranks -> {
            Map<String, String> facts = Map.of("matrices.rate", ranks.rank() == 2 ? "0.02" : "0.01");
            assertRefused(() -> Passport.compare(ranks, facts))
                    .hasMessageStartingWith("the ranks differ: matrices.rate is 0.01 at rank 0 and 0.02 at rank 2;");
            refused.incrementAndGet();
        });
        assertThat(refused).hasValue(3);
    }

    @Test
    void aKeyThatOnlySomeHaveDiffersToo() throws Exception {
        Threads.run(
                2,
                ranks -> assertThatThrownBy(() ->
                                Passport.compare(ranks, ranks.rank() == 0 ? Map.of("seed", "1") : Map.of("sed", "1")))
                        .hasMessageContaining("seed is 1 at rank 0 and absent at rank 1"));
        Threads.run(2, ranks -> Passport.compare(ranks, Map.of("seed", "a\tb\nc")));
    }

    /** A key of rank 1 that rank 0 lacks is no less a difference. */
    @Test
    void ranksAreComparedBothWays() throws Exception {
        Threads.run(
                2,
                ranks -> assertThatThrownBy(
                                () -> Passport.compare(ranks, ranks.rank() == 0 ? Map.of() : Map.of("seed", "1")))
                        .hasMessageContaining("seed is absent at rank 0 and 1 at rank 1"));
    }
}
