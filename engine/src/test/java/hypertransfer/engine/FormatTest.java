package hypertransfer.engine;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class FormatTest {
    @Test
    void roundsToTheNearestAndTiesToEven() {
        assertThat(Format.bf16(1)).isEqualTo((short) 0x3f80);
        assertThat(Format.bf16(Float.intBitsToFloat(0x3f808000))).isEqualTo((short) 0x3f80);
        assertThat(Format.bf16(Float.intBitsToFloat(0x3f818000))).isEqualTo((short) 0x3f82);
        assertThat(Format.bf16(Float.intBitsToFloat(0x3f808001))).isEqualTo((short) 0x3f81);
        assertThat(Format.bf16(-0f)).isEqualTo((short) 0x8000);
        assertThat(Format.toBf16(Float.MAX_VALUE)).isEqualTo(Float.POSITIVE_INFINITY);
    }

    /** Two of three earlier copies made a number of a NaN whose low bits are all set. */
    @Test
    void keepsWhatIsNoNumber() {
        for (int bits : new int[] {0x7fc00000, 0x7fffffff, 0x7f800001, 0xffffffff, 0xff800001}) {
            assertThat(Format.toBf16(Float.intBitsToFloat(bits))).isNaN();
        }
        assertThat(Format.toBf16(Float.POSITIVE_INFINITY)).isEqualTo(Float.POSITIVE_INFINITY);
        assertThat(Format.toBf16(Float.NEGATIVE_INFINITY)).isEqualTo(Float.NEGATIVE_INFINITY);
    }
}
