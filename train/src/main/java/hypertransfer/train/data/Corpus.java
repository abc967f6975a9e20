package hypertransfer.train.data;

import hypertransfer.core.Refusal;
import hypertransfer.train.file.Folder;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;

/** Shards in order, read as one long run of tokens. */
public final class Corpus implements AutoCloseable {
    private static final int SAMPLES = 8;
    private static final int SAMPLE = 512;

    private final List<Shard> parts;
    private final long[] starts; // starts[i]: the tokens before part i; the last entry is the count

    Corpus(List<Shard> parts) {
        this.parts = List.copyOf(parts);
        this.starts = new long[parts.size() + 1];
        for (int i = 0; i < parts.size(); i++) {
            starts[i + 1] = starts[i] + parts.get(i).count();
        }
    }

    /**
     * Opens shards: each place is a file, a pattern whose last part has * or ?, or a directory, which stands for its
     * shards of the given split. Places keep their order; the files of one place are ordered by name.
     */
    public static Corpus open(List<String> places, Split split, int vocabulary) {
        List<Path> files =
                places.stream().flatMap(place -> files(place, split).stream()).toList();
        if (files.isEmpty()) {
            throw new Refusal("no shards were named; write some with ht data tokenize and name their directory");
        }
        List<Shard> shards = new ArrayList<>();
        try {
            for (Path file : files) {
                shards.add(Shard.open(file, vocabulary));
            }
        } catch (RuntimeException e) {
            shards.forEach(Shard::close);
            throw e;
        }
        return new Corpus(shards);
    }

    private static List<Path> files(String place, Split split) {
        Path path = Path.of(place);
        if (Files.isDirectory(path)) {
            if (Commit.pending(path)) {
                throw new Refusal("a process is replacing the shards of " + path + ", or was killed while it did;"
                        + " run 'ht data tokenize' with --out " + path + " again to finish");
            }
            return matches(path, split.glob());
        }
        String last = path.getFileName() == null ? "" : path.getFileName().toString();
        if (!Files.exists(path) && (last.contains("*") || last.contains("?"))) {
            return matches(path.toAbsolutePath().getParent(), last);
        }
        return List.of(path);
    }

    private static List<Path> matches(Path directory, String glob) {
        List<Path> found = Folder.list(directory, glob);
        if (found.isEmpty()) {
            throw new Refusal("there are no shards " + glob + " in " + directory
                    + "; write some with ht data tokenize, or name the files themselves");
        }
        return found;
    }

    public List<String> names() {
        return parts.stream().map(part -> part.file().toString()).toList();
    }

    public long count() {
        return starts[parts.size()];
    }

    /** For each part its name, its size and a checksum of a few thousand of its ids: what a resumed run must find again. */
    public List<String> fingerprint() {
        return parts.stream().map(Corpus::fingerprint).toList();
    }

    private static String fingerprint(Shard part) {
        CRC32C crc = new CRC32C();
        ByteBuffer bytes = ByteBuffer.allocate(SAMPLE * Integer.BYTES);
        int[] ids = new int[SAMPLE];
        for (int i = 0; i < SAMPLES; i++) {
            long from = Math.max(0, part.count() - SAMPLE) * i / (SAMPLES - 1);
            int count = (int) Math.min(SAMPLE, part.count());
            part.read(from, ids, 0, count);
            bytes.clear().asIntBuffer().put(ids, 0, count);
            crc.update(bytes.limit(count * Integer.BYTES));
        }
        return part.file().getFileName() + ", " + part.count() + " tokens, " + Long.toHexString(crc.getValue());
    }

    /** Copies the ids from..from+count-1 to into[at..], across as many parts as it takes. */
    public void read(long from, int[] into, int at, int count) {
        int part = 0;
        while (starts[part + 1] <= from) {
            part++;
        }
        while (count > 0) {
            int here = (int) Math.min(count, starts[part + 1] - from);
            parts.get(part).read(from - starts[part], into, at, here);
            from += here;
            at += here;
            count -= here;
            part++;
        }
    }

    @Override
    public void close() {
        parts.forEach(Shard::close);
    }
}
