package hypertransfer.train.data;

import hypertransfer.core.Refusal;
import hypertransfer.train.SplitMix;
import hypertransfer.train.file.Atomic;
import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * All documents' ids in the order they were read, kept in a file until they are taken in another one. In memory is only
 * where each begins, so a text may be much larger than that. Closing, also from another thread, removes the file.
 */
final class Spool implements AutoCloseable {
    private static final int CHUNK = 1 << 16; // ids
    private static final int BUFFER = 1 << 20; // bytes

    /** What becomes of a document: its number in the order they were read, and some of its ids. */
    interface Taker {
        void take(long document, boolean opens, int... ids);
    }

    private final Path file;
    private final OutputStream disk;
    private final DataOutputStream out;
    private long[] starts = new long[1024]; // in ids; one more entry than documents once all are written
    private int documents;
    private long count;

    static Path file(Path directory) {
        return directory.resolve("tokenize.documents" + Commit.UNFINISHED);
    }

    Spool(Path directory) {
        file = file(directory);
        try {
            disk = Files.newOutputStream(file);
            out = new DataOutputStream(new BufferedOutputStream(disk, BUFFER));
        } catch (IOException e) {
            throw failed(e);
        }
    }

    void write(boolean opens, int... ids) {
        if (opens) {
            if (documents + 1 == starts.length) {
                starts = Arrays.copyOf(starts, 2 * starts.length);
            }
            starts[documents++] = count;
        }
        try {
            for (int id : ids) {
                out.writeChar(id);
            }
        } catch (IOException e) {
            throw failed(e);
        }
        count += ids.length;
        starts[documents] = count;
    }

    /** Hands all documents over, in an order that depends on the seed and on how many there are. */
    void shuffled(long seed, Taker taker) {
        Permutation order = new Permutation(Math.max(1, documents), SplitMix.mix(seed));
        try (FileChannel in = flushed()) {
            for (int i = 0; i < documents; i++) {
                int document = (int) order.at(i);
                taker.take(document, true);
                for (long at = starts[document]; at < starts[document + 1]; at += CHUNK) {
                    int[] ids = new int[(int) Math.min(CHUNK, starts[document + 1] - at)];
                    ByteBuffer bytes = ByteBuffer.allocate(Character.BYTES * ids.length);
                    while (bytes.hasRemaining()) {
                        if (in.read(bytes, Character.BYTES * at + bytes.position()) < 0) {
                            throw new IOException("it was cut short");
                        }
                    }
                    Arrays.setAll(ids, k -> bytes.getChar(Character.BYTES * k));
                    taker.take(document, false, ids);
                }
            }
        } catch (IOException e) {
            throw failed(e);
        }
    }

    private FileChannel flushed() throws IOException {
        out.flush();
        return FileChannel.open(file);
    }

    private Refusal failed(IOException e) {
        return new Refusal(
                "cannot keep the documents in " + file + " while they are shuffled: " + Atomic.reason(e)
                        + "; make room there (two bytes per token, in addition to the shards), then start again",
                e);
    }

    @Override
    public void close() {
        try (disk) { // what is still in the buffer goes with the file; a full disk could not take it
            Files.deleteIfExists(file);
        } catch (IOException e) {
            throw failed(e);
        }
    }
}
