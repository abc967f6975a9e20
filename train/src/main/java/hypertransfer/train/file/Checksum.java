package hypertransfer.train.file;

import java.lang.foreign.MemorySegment;
import java.util.zip.CRC32C;

/** The CRC-32C of bytes in memory. */
public final class Checksum {
    private static final long PART = 8 << 20; // a buffer cannot have those of a large file

    private Checksum() {}

    public static long of(byte[] bytes) {
        return of(MemorySegment.ofArray(bytes));
    }

    static long of(MemorySegment bytes) {
        CRC32C crc = new CRC32C();
        for (long at = 0; at < bytes.byteSize(); at += PART) {
            crc.update(bytes.asSlice(at, Math.min(PART, bytes.byteSize() - at)).asByteBuffer());
        }
        return crc.getValue();
    }
}
