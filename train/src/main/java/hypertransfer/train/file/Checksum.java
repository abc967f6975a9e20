package hypertransfer.train.file;

import java.lang.foreign.MemorySegment;
import java.util.stream.LongStream;
import java.util.zip.CRC32C;

/** The CRC-32C of many bytes, computed by all cores: that of a whole follows from those of its parts. */
public final class Checksum {
    private static final int POLYNOMIAL = 0x82f63b78; // Castagnoli's, the lowest power in the highest bit
    private static final int ONE = 1 << 31;
    private static final long PART = 8 << 20;

    private Checksum() {}

    public static long of(byte[] bytes) {
        return part(MemorySegment.ofArray(bytes));
    }

    static long of(MemorySegment bytes) {
        long size = bytes.byteSize();
        long[] sums = LongStream.range(0, Math.ceilDiv(size, PART))
                .parallel()
                .map(k -> part(bytes.asSlice(k * PART, Math.min(PART, size - k * PART))))
                .toArray();
        long sum = 0;
        for (int k = 0; k < sums.length; k++) {
            sum = joined(sum, sums[k], Math.min(PART, size - k * PART));
        }
        return sum;
    }

    private static long part(MemorySegment bytes) {
        CRC32C crc = new CRC32C();
        crc.update(bytes.asByteBuffer());
        return crc.getValue();
    }

    /**
     * The checksum of two runs of bytes, one after the other, from their checksums: the first is multiplied by x^8 for each
     * byte of the second, modulo the polynomial.
     *
     * @param bytes how many the second has
     */
    static long joined(long first, long second, long bytes) {
        int factor = ONE, square = ONE >>> 8; // x^8
        for (long n = bytes; n > 0; n >>= 1) {
            factor = (n & 1) == 1 ? times(factor, square) : factor;
            square = times(square, square);
        }
        return Integer.toUnsignedLong(times(factor, (int) first)) ^ second;
    }

    private static int times(int a, int b) {
        int product = 0;
        for (int bit = ONE; bit != 0; bit >>>= 1) {
            product ^= (a & bit) == 0 ? 0 : b;
            b = b >>> 1 ^ ((b & 1) == 0 ? 0 : POLYNOMIAL); // b times x
        }
        return product;
    }
}
