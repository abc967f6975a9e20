package hypertransfer.lab.answer;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What was wrong with a log: the first places by line and column, the rest counted. */
final class Problems {
    private static final int SHOWN = 5;
    private final Map<String, List<String>> shown = new LinkedHashMap<>();
    private final Map<String, Long> counted = new LinkedHashMap<>();

    /** The row is left out. */
    void add(long line, String column, String what) {
        String kind = column.isEmpty() ? "line" : column;
        counted.merge(kind, 1L, Long::sum);
        List<String> places = shown.computeIfAbsent(kind, k -> new ArrayList<>());
        if (places.size() < SHOWN) {
            places.add("line " + line + (column.isEmpty() ? "" : ", column " + column) + ": " + what);
        }
    }

    /** A sentence per place. */
    List<String> sentences() {
        List<String> all = new ArrayList<>();
        shown.forEach((kind, places) -> {
            all.addAll(places);
            long more = counted.get(kind) - places.size();
            if (more > 0) {
                all.add("and " + more + " more of this column");
            }
        });
        return all;
    }

    long count() {
        return counted.values().stream().mapToLong(Long::longValue).sum();
    }
}
