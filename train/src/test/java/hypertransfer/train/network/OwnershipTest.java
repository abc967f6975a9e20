package hypertransfer.train.network;

import static hypertransfer.train.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class OwnershipTest {
    private static final Architecture PAPER = Preset.GPT2_124M.architecture;

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 7, 8, 64})
    void everyRowHasOneOwner(int ranks) {
        for (Architecture architecture : List.of(PAPER, new Architecture(Variant.M1, 307, 11, 24, 8, 16))) {
            List<Outline> all = architecture.outlines();
            Ownership ownership = Ownership.of(all, ranks);
            for (int p = 0; p < all.size(); p++) {
                int number = p, next = 0;
                for (Ownership.Piece piece : ownership.pieces().stream()
                        .filter(x -> x.parameter() == number)
                        .toList()) {
                    assertThat(piece.from()).as(piece.toString()).isEqualTo(next);
                    assertThat(piece.rows()).isPositive();
                    assertThat(piece.owner()).isBetween(0, ranks - 1);
                    assertThat((long) piece.from() * piece.whole().cols() % 64).isZero();
                    assertThat(!piece.whole().hidden() || piece.isWhole()).isTrue();
                    next = piece.from() + piece.rows();
                }
                assertThat(next).isEqualTo(all.get(p).rows());
            }
        }
    }

    /** 12 layers of four matrices of cost 6 and two of cost 18 are 60 units of work each. */
    @Test
    void newtonSchulzIsBalanced() {
        assertThat(Ownership.of(PAPER.outlines(), 8).balance())
                .isEqualTo("8 ranks: the busiest has 1.00 times the mean of Newton-Schulz's work, the fullest 1.00"
                        + " times the mean of masters and state");
        assertThat(Ownership.of(PAPER.outlines(), 7).balance()).contains("the busiest has 1.05 times");
        assertThat(Ownership.of(PAPER.outlines(), 64).balance()).contains("the busiest has 1.60 times");
    }

    @Test
    void moreRanksThanMatricesAreRefused() {
        assertRefused(() -> Ownership.of(PAPER.outlines(), 73))
                .hasMessage("there are 73 ranks, and the network has 72 hidden matrices to share among them;"
                        + " start at most 72 ranks");
    }
}
