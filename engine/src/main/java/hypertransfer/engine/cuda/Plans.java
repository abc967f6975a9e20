package hypertransfer.engine.cuda;

import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Which of cuBLASLt's algorithms each product uses, kept on disk for a card and a release of the library.
 *
 * <p>Algorithms differ in the order of their sums, so a choice by timing made anew in each run would make runs differ in
 * their last bits. Here it is made once: where it cannot be kept, cuBLASLt's own first choice is taken, which is always
 * the same.
 */
final class Plans {
    private static final int ALGORITHM_BYTES = 64;

    private final Cache cache;
    private final String file;
    private final Map<String, byte[]> chosen = new TreeMap<>();

    Plans(Cache cache, String card, int release) {
        this.cache = cache;
        this.file = "plans-" + card.replaceAll("[^A-Za-z0-9]+", "_") + "-" + release + ".txt";
        cache.read(file)
                .ifPresent(bytes -> new String(bytes, StandardCharsets.UTF_8)
                        .lines()
                        .map(line -> line.split(" "))
                        .filter(line -> line.length == 2 && line[1].length() == 2 * ALGORITHM_BYTES)
                        .forEach(line -> chosen.put(line[0], HexFormat.of().parseHex(line[1]))));
    }

    Optional<byte[]> find(Product product) {
        return Optional.ofNullable(chosen.get(product.key()));
    }

    /** Whether a choice made now would be found again. */
    boolean keep(Product product, byte[] algorithm) {
        chosen.put(product.key(), algorithm);
        String lines = chosen.entrySet().stream()
                .map(plan -> plan.getKey() + " " + HexFormat.of().formatHex(plan.getValue()) + "\n")
                .collect(Collectors.joining());
        return cache.write(file, lines.getBytes(StandardCharsets.UTF_8));
    }
}
