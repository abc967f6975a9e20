package hypertransfer.train.config;

import java.util.Collection;
import java.util.Comparator;
import java.util.Map;
import java.util.Optional;

/** The word that was probably meant. */
public final class Nearest {
    /** What other programs call a key. */
    private static final Map<String, String> ELSEWHERE = Map.of(
            "lr", "matrices.rate",
            "learning_rate", "matrices.rate",
            "weight_decay", "matrices.decay",
            "wd", "matrices.decay",
            "batch_size", "model.batch");

    private Nearest() {}

    /** The known word with the fewest typing mistakes; none where one letter in three would have to be wrong. */
    public static Optional<String> of(String word, Collection<String> known) {
        return known.stream()
                .filter(candidate -> near(word, candidate))
                .min(Comparator.comparingInt(candidate -> mistakes(word, candidate)));
    }

    private static boolean near(String word, String candidate) {
        return mistakes(word, candidate) <= Math.max(1, word.length() / 3);
    }

    /**
     * The end of a refusal: of a configuration's keys the nearest. The last parts count too, so that 'rate' finds
     * 'matrices.rate', which comes before that of any other group.
     */
    static String key(String key, Collection<String> keys) {
        String ours = ELSEWHERE.get(last(key)), inGroup = ours == null ? null : key.replace(last(key), last(ours));
        Optional<String> nearest = ours != null
                ? Optional.of(keys.contains(inGroup) ? inGroup : ours)
                : keys.stream()
                        .filter(known -> near(key, known) || near(last(key), last(known)))
                        .min(Comparator.<String>comparingInt(
                                        known -> Math.min(mistakes(known, key), 1 + mistakes(last(known), last(key))))
                                .thenComparing(known -> key.contains(".") || !known.startsWith("matrices."))
                                .thenComparingInt(known -> mistakes(known, key)));
        return nearest.map(found -> "the nearest is '" + found + "'").orElse("'ht presets --keys' prints every key");
    }

    private static String last(String key) {
        return key.substring(key.lastIndexOf('.') + 1);
    }

    /** Letters wrong, missing, added, or swapped with their neighbour. */
    private static int mistakes(String a, String b) {
        int[][] d = new int[a.length() + 1][b.length() + 1];
        for (int i = 0; i <= a.length(); i++) {
            for (int j = 0; j <= b.length(); j++) {
                if (i == 0 || j == 0) {
                    d[i][j] = i + j;
                    continue;
                }
                int change = a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1;
                d[i][j] = Math.min(d[i - 1][j - 1] + change, 1 + Math.min(d[i - 1][j], d[i][j - 1]));
                if (i > 1 && j > 1 && a.charAt(i - 1) == b.charAt(j - 2) && a.charAt(i - 2) == b.charAt(j - 1)) {
                    d[i][j] = Math.min(d[i][j], d[i - 2][j - 2] + 1);
                }
            }
        }
        return d[a.length()][b.length()];
    }
}
