package hypertransfer.train.ranks;

import static hypertransfer.train.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AgreementTest {
    @Test
    void theKeyThatDiffersIsNamedAtEveryRank() throws Exception {
        AtomicInteger refused = new AtomicInteger();
        Threads.run(3, ranks -> {
            Map<String, String> facts = Map.of("matrices.rate", ranks.rank() == 2 ? "0.02" : "0.01");
            assertRefused(() -> Agreement.compare(ranks, facts))
                    .hasMessageStartingWith("the ranks differ: matrices.rate is 0.01 at rank 0 and 0.02 at rank 2;");
            refused.incrementAndGet();
        });
        assertThat(refused).hasValue(3);
    }

    @ParameterizedTest
    @CsvSource({
        "seed, sed, seed is 1 at rank 0 and absent at rank 1",
        ", seed, seed is absent at rank 0 and 1 at rank 1"
    })
    void aKeyThatOnlySomeHaveDiffersToo(String first, String second, String sentence) throws Exception {
        Threads.run(2, ranks -> {
            String key = ranks.rank() == 0 ? first : second;
            assertRefused(() -> Agreement.compare(ranks, key == null ? Map.of() : Map.of(key, "1")), sentence);
        });
    }

    /** It was an ArrayIndexOutOfBoundsException, and nobody learned that the builds differ. */
    @Test
    void anotherVersionMayWriteFactsInAnotherWay() throws Exception {
        Threads.run(2, ranks -> {
            if (ranks.rank() == 1) {
                ranks.texts("version=2");
            } else {
                assertRefused(
                        () -> Agreement.compare(ranks, Map.of("version", "1")),
                        "the ranks differ: version is 1 at rank 0 and absent at rank 1");
            }
        });
    }

    @Test
    void tabsAndLinesDoNotMatter() throws Exception {
        Threads.run(2, ranks -> Agreement.compare(ranks, Map.of("the file a\nb\tc", "a\tb\nc")));
    }
}
