package hypertransfer.engine.cuda;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;

/**
 * What was worked out once for a card and is kept for the next run: compiled kernels and chosen products. A folder that
 * cannot be written keeps nothing, which costs time only.
 */
record Cache(Path folder) {
    private static final System.Logger LOG = System.getLogger(Cache.class.getName());

    /** {@code hypertransfer/cuda} under the user's cache folder. */
    static Cache of(Map<String, String> environment) {
        String home = environment.getOrDefault("HOME", System.getProperty("java.io.tmpdir"));
        String cache = environment.getOrDefault("XDG_CACHE_HOME", "");
        Path root = cache.isBlank() ? Path.of(home, ".cache") : Path.of(cache);
        return new Cache(root.resolve("hypertransfer").resolve("cuda"));
    }

    static String hash(String text) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(digest, 0, 16);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }

    Optional<byte[]> read(String name) {
        Path file = folder.resolve(name);
        try {
            return Files.isRegularFile(file) ? Optional.of(Files.readAllBytes(file)) : Optional.empty();
        } catch (IOException e) {
            LOG.log(Level.WARNING, "cannot read {0}: {1}", file, e.getMessage());
            return Optional.empty();
        }
    }

    /** Written beside and renamed, so that no reader meets half a file; false where it cannot be kept. */
    boolean write(String name, byte[] bytes) {
        Path file = folder.resolve(name);
        try {
            Files.createDirectories(folder);
            Path beside = Files.createTempFile(folder, name, ".part");
            Files.write(beside, bytes);
            Files.move(beside, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
            return true;
        } catch (IOException e) {
            LOG.log(Level.WARNING, "cannot keep {0}: {1}; set XDG_CACHE_HOME to a folder that can be written", file, e);
            return false;
        }
    }
}
