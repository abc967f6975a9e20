package hypertransfer.lab.compare;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class PairedTest {
    /** At each end of the interval the part minus that share of the whole is just told from zero: p is 0.05. */
    @Test
    void theIntervalOfAShareIsFiellers() {
        Random random = new Random(7);
        for (int n : new int[] {2, 3, 8}) {
            double[] whole = random.doubles(n, 0.99, 1.01).toArray(),
                    part = random.doubles(n, 0.3, 0.5).toArray();
            Paired.Share share = Paired.Share.of(part, whole);
            assertThat(share.mean())
                    .isCloseTo(Paired.of(part).mean() / Paired.of(whole).mean(), within(1e-15));
            for (double end : new double[] {share.low(), share.high()}) {
                double[] left = IntStream.range(0, n)
                        .mapToDouble(i -> part[i] - end * whole[i])
                        .toArray();
                assertThat(Paired.of(left).p()).as("n = " + n).isCloseTo(0.05, within(1e-9));
            }
            assertThat(share.low()).isLessThan(share.mean());
            assertThat(share.high()).isGreaterThan(share.mean());
        }
    }

    @Test
    void noShareIsRuledOutWhereTheWholeIsNoise() {
        Paired.Share share = Paired.Share.of(new double[] {0.1, 0.2, 0.1}, new double[] {0.3, -0.2, 0.1});
        assertThat(share.low()).isNull();
        assertThat(share.high()).isNull();
        assertThat(Paired.Share.of(new double[] {0.1, 0.2}, new double[] {0, 1e-16}))
                .isNull();
        assertThat(Paired.Share.of(new double[] {1}, new double[] {4})).isEqualTo(new Paired.Share(0.25, null, null));
    }
}
