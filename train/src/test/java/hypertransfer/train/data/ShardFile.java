package hypertransfer.train.data;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.IntStream;

/** Shards made by hand, byte for byte, apart from the code that is tested. */
public final class ShardFile {
    private ShardFile() {}

    static byte[] bytes(int magic, int version, int announced, int... ids) {
        ByteBuffer bytes = ByteBuffer.allocate(1024 + 2 * ids.length).order(ByteOrder.LITTLE_ENDIAN);
        bytes.putInt(magic).putInt(version).putInt(announced).position(1024);
        for (int id : ids) {
            bytes.putShort((short) id);
        }
        return bytes.array();
    }

    static Path write(Path file, byte[] bytes) {
        try {
            return Files.write(file, bytes);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public static Path write(Path file, int... ids) {
        return write(file, bytes(20240520, 1, ids.length, ids));
    }

    /** Ids from..from+count-1. */
    static Path range(Path file, int from, int count) {
        return write(file, IntStream.range(from, from + count).toArray());
    }

    /** A shard written by someone else's tool. */
    static Path shakespeare() {
        try {
            return Path.of(
                    ShardFile.class.getResource("tiny_shakespeare_val.bin").toURI());
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }
}
