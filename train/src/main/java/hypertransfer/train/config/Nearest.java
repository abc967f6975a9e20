package hypertransfer.train.config;

import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;

/** The key that was probably meant. */
final class Nearest {
    private Nearest() {}

    static String to(String key, Collection<String> keys) {
        return keys.stream()
                .min(Comparator.<String>comparingInt(known -> distance(known, key))
                        .thenComparingInt(known -> edits(known, key)))
                .orElseThrow();
    }

    /** Levenshtein's, or that of the last parts only, so that 'rate' finds 'matrices.rate'. */
    private static int distance(String known, String key) {
        String last = known.substring(known.lastIndexOf('.') + 1), own = key.substring(key.lastIndexOf('.') + 1);
        return Math.min(edits(known, key), 1 + edits(last, own));
    }

    private static int edits(String a, String b) {
        int[] row = new int[b.length() + 1];
        Arrays.setAll(row, j -> j);
        for (int i = 1; i <= a.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                int change = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(change, 1 + Math.min(row[j], row[j - 1]));
            }
        }
        return row[b.length()];
    }
}
