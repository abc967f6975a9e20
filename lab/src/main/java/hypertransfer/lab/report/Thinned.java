package hypertransfer.lab.report;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.TreeMap;
import java.util.function.ToDoubleFunction;
import java.util.function.ToIntFunction;

/**
 * A series thinned to what a screen can show: buckets of one width in steps, of each the first line and those with the
 * smallest and the largest value, so that no spike is lost. A short series stays whole. Widths are powers of two: series of
 * several runs keep common steps.
 */
final class Thinned<T> {
    private record Bucket<T>(int index, T first, T low, T high) {}

    private final int most;
    private final ToIntFunction<T> step;
    private final ToDoubleFunction<T> value;
    private List<Bucket<T>> buckets = new ArrayList<>();
    private int width = 1;
    private T last;

    /** @param most the number of buckets at which their width is doubled */
    Thinned(int most, ToIntFunction<T> step, ToDoubleFunction<T> value) {
        this.most = most;
        this.step = step;
        this.value = value;
    }

    /** Adds a line whose step comes after all others. */
    void add(T line) {
        last = line;
        join(buckets, new Bucket<>(step.applyAsInt(line) / width, line, line, line));
        while (buckets.size() > most) {
            width *= 2;
            var wider = new ArrayList<Bucket<T>>();
            buckets.forEach(b -> join(wider, new Bucket<>(b.index / 2, b.first, b.low, b.high)));
            buckets = wider;
        }
    }

    private void join(List<Bucket<T>> into, Bucket<T> next) {
        Bucket<T> before = into.isEmpty() ? null : into.getLast();
        if (before == null || before.index != next.index) {
            into.add(next);
            return;
        }
        double low = value.applyAsDouble(before.low), high = value.applyAsDouble(before.high);
        into.set(
                into.size() - 1,
                new Bucket<>(
                        next.index,
                        before.first,
                        value.applyAsDouble(next.low) < low || Double.isNaN(low) ? next.low : before.low,
                        value.applyAsDouble(next.high) > high || Double.isNaN(high) ? next.high : before.high));
    }

    /** Whether lines were left out. */
    boolean thin() {
        return width > 1;
    }

    /** What is kept, in the order of the steps; the last line always is. */
    Collection<T> lines() {
        var kept = new TreeMap<Integer, T>();
        for (Bucket<T> bucket : buckets) {
            List.of(bucket.first, bucket.low, bucket.high).forEach(line -> kept.put(step.applyAsInt(line), line));
        }
        if (last != null) {
            kept.put(step.applyAsInt(last), last);
        }
        return kept.values();
    }
}
