package hypertransfer.train.file;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.util.Random;
import java.util.zip.CRC32C;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ChecksumTest {
    /** Around the size of a part. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 13, 8 << 20, (8 << 20) + 1, (24 << 20) - 1})
    void thatOfTheWhole(int size) {
        byte[] bytes = new byte[size];
        new Random(size).nextBytes(bytes);
        assertThat(Checksum.of(MemorySegment.ofArray(bytes))).isEqualTo(crc(bytes, 0, size));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 7, 64, 999, 1000})
    void joined(int from) {
        byte[] bytes = new byte[1000];
        new Random(from).nextBytes(bytes);
        assertThat(Checksum.joined(crc(bytes, 0, from), crc(bytes, from, 1000 - from), 1000 - from))
                .isEqualTo(crc(bytes, 0, 1000));
    }

    private static long crc(byte[] bytes, int from, int count) {
        CRC32C crc = new CRC32C();
        crc.update(bytes, from, count);
        return crc.getValue();
    }
}
