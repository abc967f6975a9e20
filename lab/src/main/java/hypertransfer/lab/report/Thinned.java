package hypertransfer.lab.report;

import java.util.Collection;
import java.util.List;
import java.util.TreeMap;
import java.util.function.ToDoubleFunction;
import java.util.function.ToIntFunction;

/**
 * A series in {@link Buckets}: of each the first line and those with the smallest and the largest value, so that no spike
 * is lost.
 */
final class Thinned<T> {
    private record Bucket<T>(T first, T low, T high) {}

    private final ToIntFunction<T> step;
    private final ToDoubleFunction<T> value;
    private final Buckets<Bucket<T>> buckets;
    private T last;

    /** @param most the number of buckets at which their width is doubled */
    Thinned(int most, ToIntFunction<T> step, ToDoubleFunction<T> value) {
        this.step = step;
        this.value = value;
        buckets = new Buckets<>(most, this::both);
    }

    /** Adds a line whose step comes after all others. */
    void add(T line) {
        last = line;
        buckets.add(step.applyAsInt(line), new Bucket<>(line, line, line));
    }

    private Bucket<T> both(Bucket<T> before, Bucket<T> next) {
        double low = value.applyAsDouble(before.low), high = value.applyAsDouble(before.high);
        return new Bucket<>(
                before.first,
                value.applyAsDouble(next.low) < low || Double.isNaN(low) ? next.low : before.low,
                value.applyAsDouble(next.high) > high || Double.isNaN(high) ? next.high : before.high);
    }

    /** Whether lines were left out. */
    boolean thin() {
        return buckets.thin();
    }

    /** What is kept, in the order of the steps; the last line always is. */
    Collection<T> lines() {
        var kept = new TreeMap<Integer, T>();
        for (Bucket<T> bucket : buckets.all()) {
            List.of(bucket.first, bucket.low, bucket.high).forEach(line -> kept.put(step.applyAsInt(line), line));
        }
        if (last != null) {
            kept.put(step.applyAsInt(last), last);
        }
        return kept.values();
    }
}
