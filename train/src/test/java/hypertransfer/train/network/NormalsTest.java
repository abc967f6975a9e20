package hypertransfer.train.network;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.train.SplitMix;
import java.util.Arrays;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class NormalsTest {
    /** A few of the million are so near to a float's border that the series cannot decide them. */
    @ParameterizedTest
    @ValueSource(doubles = {0.006, 1})
    void areThoseOfStrictMath(double std) {
        int count = 1_000_001;
        SplitMix random = new SplitMix(7);
        float[] expected = new float[count], kept = new float[count];
        int n = 0;
        for (int i = 0; i < count; i++) {
            double a = 1 - (random.next() >>> 11) * 0x1p-53, u = (random.next() >>> 11) * 0x1p-53;
            double z = Normals.exact(a, u);
            if (Math.abs(z) <= 2) {
                expected[n++] = (float) (std * z);
            }
        }
        assertThat(new Normals().draw(new SplitMix(7), count, std, kept)).isEqualTo(n);
        assertThat(Arrays.equals(kept, 0, n, expected, 0, n)).isTrue();
    }
}
