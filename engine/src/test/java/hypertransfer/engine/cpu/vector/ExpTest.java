package hypertransfer.engine.cpu.vector;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

class ExpTest {
    /** Over all exponents that a softmax meets, in steps that hit no period of the polynomial. */
    @Test
    void isWithinTwoUnitsInTheLastPlace() {
        int pairs = 1024, count = 2 * pairs * Lanes.W;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment x = arena.allocate(4L * count, 64);
            double worst = 0;
            for (float shift : new float[] {0, 3.7f, -41}) {
                for (int i = 0; i < count; i++) {
                    x.setAtIndex(ValueLayout.JAVA_FLOAT, i, shift + 0.5f - 87.5f * i / count);
                }
                float[] before = x.toArray(ValueLayout.JAVA_FLOAT);
                float sum = Exp.shifted(x.address(), pairs, shift);
                double expectedSum = 0;
                for (int i = 0; i < count; i++) {
                    double expected = Math.exp(before[i] - shift); // the difference of floats, rounded as in the engine
                    float met = x.getAtIndex(ValueLayout.JAVA_FLOAT, i);
                    worst = Math.max(worst, Math.abs(met - expected) / Math.ulp((float) expected));
                    expectedSum += expected;
                }
                assertThat(Math.abs(sum / expectedSum - 1)).isLessThan(1e-4);
            }
            assertThat(worst).isLessThanOrEqualTo(2);
        }
    }

    @Test
    void staysAboveZeroFarBelow() {
        int count = 2 * Lanes.W;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment x = arena.allocate(4L * count, 64);
            for (int i = 0; i < count; i++) {
                x.setAtIndex(ValueLayout.JAVA_FLOAT, i, i == 0 ? -Float.MAX_VALUE : -88 - 1000 * i);
            }
            Exp.shifted(x.address(), 1, 0);
            for (int i = 0; i < count; i++) {
                assertThat(x.getAtIndex(ValueLayout.JAVA_FLOAT, i)).isBetween(1e-38f, 2e-38f);
            }
        }
    }
}
