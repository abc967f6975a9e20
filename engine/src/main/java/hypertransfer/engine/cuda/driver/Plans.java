package hypertransfer.engine.cuda.driver;

import hypertransfer.engine.EngineException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Which of cuBLASLt's algorithms each product uses, kept on disk for a card and a release of the library.
 *
 * <p>Algorithms differ in the order of their sums, so a choice by timing, made again in each run, would make runs differ
 * in their last bits. Here it is made once per user: the first stored choice wins, in every process. A run may have a
 * file of its own beside that, with all that it uses, timed or not: it is followed first, so that the run keeps its
 * algorithms when the user's file is deleted, or was written by others in the meantime.
 */
public final class Plans {
    public static final int ALGORITHM_BYTES = 64; // cublasLtMatmulAlgo_t
    private static final Pattern LINE =
            Pattern.compile("(?m)^(.+) ([0-9a-f]{" + 2 * ALGORITHM_BYTES + "})( [0-9a-f]{8})?$");

    private final Cache cache;
    private final String card;
    private final Map<String, byte[]> shared = new TreeMap<>();
    private final Map<String, byte[]> own = new TreeMap<>();
    private Path file;

    public Plans(Cache cache, String card, int release) {
        this.cache = cache;
        this.card = card.replaceAll("[^A-Za-z0-9]+", "_") + "-" + release;
        cache.read(name()).ifPresent(bytes -> shared.putAll(parse(new String(bytes))));
    }

    private String name() {
        return "algorithms-" + card + ".txt";
    }

    /** Gives this run a file of its own, and follows what it holds already, all of it: with others it has other bits. */
    public void own(Path path) {
        file = path;
        if (Files.notExists(path)) {
            return;
        }
        String what = path + ", which holds the algorithms that this run began with";
        try {
            if (!Files.isRegularFile(path)) { // to open a pipe may wait for ever
                throw new IOException("not a regular file");
            }
            Files.readString(path).lines().filter(line -> !line.isBlank()).forEach(line -> {
                Map<String, byte[]> plan = parse(line);
                if (plan.isEmpty()) {
                    throw new EngineException(what + ", is damaged at '" + line
                            + "'; put a copy back, or delete that line: the last bits may then differ from before");
                }
                own.putAll(plan);
            });
        } catch (IOException e) {
            throw new EngineException("cannot read " + what, e);
        }
    }

    /** Whether this run has used an algorithm before, by its file. */
    public boolean begun() {
        return !own.isEmpty();
    }

    public Optional<byte[]> find(String product) {
        return Optional.ofNullable(own.getOrDefault(card + " " + product, shared.get(product)));
    }

    /** Whether a choice made now would be found again; where not, timing would make runs differ. */
    public boolean lasting() {
        return file != null || cache.update(name(), text -> text);
    }

    /**
     * Keeps a timed choice for all runs.
     *
     * @param refused what was kept before and cannot be used any more; null where nothing was
     * @return the choice that stands: this one, or another process's that was kept before it
     */
    public byte[] keep(String product, byte[] algorithm, byte[] refused) {
        shared.put(product, algorithm);
        cache.update(name(), text -> merged(text, product, algorithm, refused, shared));
        return shared.get(product);
    }

    /**
     * Notes in the run's own file, if it has one, what it uses.
     *
     * @param refused as above
     * @return the choice that stands: this one, or that of another process of the same run, so that all have one
     */
    public byte[] use(String product, byte[] algorithm, byte[] refused) {
        String key = card + " " + product;
        if (file == null || Arrays.equals(own.get(key), algorithm)) {
            return algorithm;
        }
        boolean noted = new Cache(file.toAbsolutePath().getParent())
                .update(file.getFileName().toString(), text -> merged(text, key, algorithm, refused, own));
        if (!noted) {
            throw new EngineException("cannot write " + file
                    + "; it is needed to resume the run with the same bits: make room, or check its folder");
        }
        return own.get(key);
    }

    /** A file's text with one more choice, unless it has one for that product; {@code into} gets them all. */
    private static String merged(String text, String key, byte[] algorithm, byte[] refused, Map<String, byte[]> into) {
        Map<String, byte[]> all = parse(text);
        all.merge(key, algorithm, (there, ours) -> Arrays.equals(there, refused) ? ours : there);
        into.putAll(all);
        return all.entrySet().stream()
                .map(plan -> line(plan.getKey(), plan.getValue()) + "\n")
                .collect(Collectors.joining());
    }

    /**
     * Of each line the algorithm, under what stands before it. Behind it is a checksum of both, which older files do not
     * have; other lines are nobody's choice.
     */
    private static Map<String, byte[]> parse(String text) {
        Map<String, byte[]> plans = new TreeMap<>();
        LINE.matcher(text).results().forEach(line -> {
            byte[] algorithm = HexFormat.of().parseHex(line.group(2));
            if (line.group(3) == null || line.group().equals(line(line.group(1), algorithm))) {
                plans.put(line.group(1), algorithm);
            }
        });
        return plans;
    }

    private static String line(String key, byte[] algorithm) {
        String line = key + " " + HexFormat.of().formatHex(algorithm);
        return line + " " + Cache.hash(line).substring(0, 8);
    }
}
