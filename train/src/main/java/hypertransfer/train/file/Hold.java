package hypertransfer.train.file;

import hypertransfer.core.Refusal;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/** A file that is locked: by one process, and once in it. */
public record Hold(Path key, FileChannel channel) implements AutoCloseable {
    /** What this process holds. A second open of a lock file would, when closed, release the first one's lock. */
    private static final Set<Path> HELD = ConcurrentHashMap.newKeySet();

    private static final int PATIENCE = 1000; // milliseconds, with those who ask

    /** Locks a file, which is made; refused where another holds it. */
    public static synchronized Hold of(Path file, Supplier<Refusal> inUse) throws IOException {
        Path key = key(file);
        if (!HELD.add(key)) {
            throw inUse.get();
        }
        try {
            return new Hold(key, locked(file, inUse));
        } catch (IOException | RuntimeException | Error e) {
            HELD.remove(key);
            throw e;
        }
    }

    private static FileChannel locked(Path file, Supplier<Refusal> inUse) throws IOException {
        while (true) {
            FileChannel channel = FileChannel.open(
                    file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
            try {
                for (int tries = 0; channel.tryLock() == null; tries++) {
                    try (FileLock shared = share(channel)) { // which is refused by who holds it, not by who only asks
                        if (shared == null || tries == PATIENCE) {
                            throw inUse.get();
                        }
                    }
                    LockSupport.parkNanos(1_000_000);
                }
                if (Files.exists(file)) {
                    return channel;
                }
                channel.close(); // whoever held it has renamed or removed it meanwhile
            } catch (IOException | RuntimeException | Error e) {
                channel.close();
                throw e;
            }
        }
    }

    private static Path key(Path file) throws IOException {
        return file.toAbsolutePath().getParent().toRealPath().resolve(file.getFileName());
    }

    private static FileLock share(FileChannel channel) throws IOException {
        return channel.tryLock(0, Long.MAX_VALUE, true);
    }

    /**
     * Whether anyone holds a file now. Asking shares its lock for a moment, so in one process only one asks or locks at a time.
     */
    public static synchronized boolean held(Path file) {
        try {
            if (HELD.contains(key(file))) {
                return true;
            }
            try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ);
                    FileLock shared = share(channel)) {
                return shared == null;
            }
        } catch (IOException e) { // without the file, or one we may not open, nobody we know of
            return false;
        }
    }

    @Override
    public void close() {
        try {
            Atomic.close(key, channel);
        } finally {
            HELD.remove(key);
        }
    }
}
