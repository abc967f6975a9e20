package hypertransfer.engine.cuda.driver;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;

/**
 * What was worked out once for a card and is kept for the next run: compiled kernels and chosen products. A folder that
 * cannot be written keeps nothing, which only costs time.
 */
public record Cache(Path folder) {
    private static final System.Logger LOG = System.getLogger(Cache.class.getName());
    private static final int SEAL = 32, LARGEST = 64 << 20; // bytes

    /** {@code hypertransfer/cuda} under the user's cache folder. */
    public static Cache of(Map<String, String> environment) {
        String home = environment.getOrDefault("HOME", System.getProperty("java.io.tmpdir"));
        String cache = environment.getOrDefault("XDG_CACHE_HOME", "");
        Path root = cache.isBlank() ? Path.of(home, ".cache") : Path.of(cache);
        return new Cache(root.resolve("hypertransfer").resolve("cuda"));
    }

    public static String hash(String text) {
        return HexFormat.of().formatHex(digest(text.getBytes(StandardCharsets.UTF_8)), 0, 16);
    }

    private static byte[] digest(byte[] bytes) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(bytes);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }

    /** What {@link #seal} has written; nothing where it is damaged, cut short, or not ours. */
    public Optional<byte[]> sealed(String name) {
        byte[] all = read(name).orElse(new byte[0]);
        byte[] bytes = Arrays.copyOfRange(all, Math.min(SEAL, all.length), all.length);
        return Arrays.equals(digest(bytes), Arrays.copyOf(all, SEAL)) ? Optional.of(bytes) : Optional.empty();
    }

    /** Writes bytes behind their digest. */
    public void seal(String name, byte[] bytes) {
        byte[] all = Arrays.copyOf(digest(bytes), SEAL + bytes.length);
        System.arraycopy(bytes, 0, all, SEAL, bytes.length);
        write(name, all);
    }

    public Optional<byte[]> read(String name) {
        Path file = folder.resolve(name);
        try {
            boolean ours = Files.isRegularFile(file) && Files.size(file) <= LARGEST;
            return ours ? Optional.of(Files.readAllBytes(file)) : Optional.empty();
        } catch (IOException e) {
            LOG.log(Level.WARNING, "cannot read {0}: {1}", file, e.getMessage());
            return Optional.empty();
        }
    }

    /** Written beside and renamed, so that no reader meets half a file; false where it cannot be kept. */
    public boolean write(String name, byte[] bytes) {
        Path file = folder.resolve(name);
        try {
            Files.createDirectories(folder);
            Path beside = Files.createTempFile(folder, name, ".part");
            try {
                Files.write(beside, bytes);
                Files.move(beside, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
            } finally {
                Files.deleteIfExists(beside); // there only where something failed
            }
            return true;
        } catch (IOException e) {
            LOG.log(Level.WARNING, "cannot keep {0}: {1}; set XDG_CACHE_HOME to a folder that can be written", file, e);
            return false;
        }
    }

    /**
     * Changes a text while no other process or thread does.
     *
     * @param change from what is there now, empty where there is no such file, to what is kept
     * @return whether it was kept
     */
    public boolean update(String name, UnaryOperator<String> change) {
        synchronized (Cache.class) { // file locks are held by the whole process
            Path lock = folder.resolve(name + ".lock");
            try {
                Files.createDirectories(folder);
                try (FileChannel channel = FileChannel.open(lock, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                        FileLock held = channel.lock()) {
                    byte[] before = read(name).orElse(new byte[0]);
                    String after = change.apply(new String(before, StandardCharsets.UTF_8));
                    return held.isValid() && write(name, after.getBytes(StandardCharsets.UTF_8));
                }
            } catch (IOException e) {
                LOG.log(Level.WARNING, "cannot lock {0}: {1}; set XDG_CACHE_HOME to a folder of a local disk", lock, e);
                return false;
            }
        }
    }
}
