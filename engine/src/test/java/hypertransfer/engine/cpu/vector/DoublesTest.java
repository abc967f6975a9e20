package hypertransfer.engine.cpu.vector;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.math.BigDecimal;
import java.util.Arrays;
import java.util.Random;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Test;

class DoublesTest {
    /** One chain of additions is off by four units of the last place at the largest size; 4.5e-14 % are two. */
    @Test
    void aSumOfSquaresIsRightToTheLastPlace() {
        for (int n : new int[] {1, 127, 128, 129, 512, 65_536}) {
            double[] x = new Random(n).doubles(n, -1, 1).toArray();
            BigDecimal exact =
                    Arrays.stream(x).mapToObj(v -> new BigDecimal(v).pow(2)).reduce(BigDecimal.ZERO, BigDecimal::add);
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment at = arena.allocateFrom(ValueLayout.JAVA_DOUBLE, x);
                assertThat(Doubles.squares(at.address(), n))
                        .isCloseTo(exact.doubleValue(), Percentage.withPercentage(4.5e-14));
            }
        }
    }
}
