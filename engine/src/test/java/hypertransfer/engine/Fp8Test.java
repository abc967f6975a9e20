package hypertransfer.engine;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.engine.Fp8.Grid;
import java.util.Arrays;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class Fp8Test {
    /** All finite numbers that are not negative, from their fields as the standard of the two formats has them. */
    private static double[] table(Fp8 format) {
        int mantissa = format == Fp8.E4M3 ? 3 : 2, bias = format == Fp8.E4M3 ? 7 : 15;
        int count = format == Fp8.E4M3 ? 127 : 124; // before NaN, or infinity
        return IntStream.range(0, count)
                .mapToDouble(bits -> {
                    int field = bits >> mantissa, rest = bits - (field << mantissa);
                    double part = rest / (double) (1 << mantissa);
                    return field == 0 ? part * Math.pow(2, 1 - bias) : (1 + part) * Math.pow(2, field - bias);
                })
                .toArray();
    }

    /** Of the numbers of a table the one that is nearest, and of two the one whose bits are even. */
    private static int nearest(double[] table, double x) {
        int best = 0;
        for (int bits = 1; bits < table.length; bits++) {
            double distance = Math.abs(table[bits] - x), least = Math.abs(table[best] - x);
            if (distance < least || distance == least && bits % 2 == 0) {
                best = bits;
            }
        }
        return best;
    }

    @ParameterizedTest
    @EnumSource
    void everyNumberItsNeighboursAndWhatLiesBetweenAreRoundedToTheNearest(Fp8 format) {
        double[] table = table(format);
        for (int bits = 0; bits < table.length; bits++) {
            double here = table[bits], next = bits + 1 < table.length ? table[bits + 1] : 2 * here;
            double[] between = {
                here,
                Math.nextUp(here),
                Math.nextDown(here + next) / 2,
                (here + next) / 2,
                Math.nextUp(here + next) / 2,
                next
            };
            for (double x : between) {
                int expected = nearest(table, x);
                assertThat(format.bits(x)).as("%s of %s", format, x).isEqualTo((byte) expected);
                assertThat(format.bits(-x)).as("%s of %s", format, -x).isEqualTo((byte) (expected | 0x80));
                assertThat(format.nearest(x)).as("%s of %s", format, x).isEqualTo(table[expected]);
                assertThat(format.nearest(-x)).as("%s of %s", format, -x).isEqualTo(-table[expected]);
            }
            assertThat(format.value((byte) bits)).isEqualTo(here);
            assertThat(format.value((byte) (bits | 0x80))).isEqualTo(-here);
        }
    }

    @ParameterizedTest
    @EnumSource
    void whatIsTooLargeBecomesTheLargestAndNanStays(Fp8 format) {
        double largest = Arrays.stream(table(format)).max().getAsDouble();
        assertThat(largest).isEqualTo(format == Fp8.E4M3 ? 448 : 57344);
        for (double x : new double[] {1.01 * largest, 1e30, Double.POSITIVE_INFINITY}) {
            assertThat(format.value(format.bits(x))).isEqualTo(largest);
            assertThat(format.value(format.bits(-x))).isEqualTo(-largest);
        }
        assertThat(format.value(format.bits(Double.NaN))).isNaN();
        assertThat(format.nearest(Double.NaN)).isNaN();
        assertThat(format.bits(Double.MIN_VALUE)).isZero();
    }

    /** They are part of a run's bits. */
    @ParameterizedTest
    @CsvSource({"768, 65536, 5, 26", "3072, 65536, 6, 26", "1280, 32768, 5, 25", "256, 49152, 4, 26"})
    void powersOfTwoDependOnSizesOnly(int cols, int N, int weight, int gradient) {
        Dims dims = new Dims(N / 256, 256, 256, 128, 256);
        assertThat(Grid.weight(cols)).isEqualTo(new Grid(Fp8.E4M3, weight));
        assertThat(Grid.of(Role.OPERAND_GRADIENT, dims)).isEqualTo(new Grid(Fp8.E5M2, gradient));
        assertThat(Grid.of(Role.OPERAND, dims).nearest(1700)).isEqualTo(1664);
        assertThat(Grid.of(Role.ACTIVATION, dims)).isNull();
    }
}
