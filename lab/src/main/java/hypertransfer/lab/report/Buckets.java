package hypertransfer.lab.report;

import java.util.Collection;
import java.util.TreeMap;
import java.util.function.BinaryOperator;

/**
 * A series thinned to what a screen can show: buckets of one width in steps, which is doubled where there are too many. A
 * short series stays whole. Widths are powers of two: series of several runs keep common steps.
 */
public final class Buckets<B> {
    private final int most;
    private final BinaryOperator<B> both;
    private TreeMap<Integer, B> buckets = new TreeMap<>(); // by step / width
    private int width = 1;

    /**
     * @param most the number of buckets at which their width is doubled
     * @param both the bucket of two, the earlier one first
     */
    public Buckets(int most, BinaryOperator<B> both) {
        this.most = most;
        this.both = both;
    }

    /** Adds what is at a step that comes after all others. */
    public void add(int step, B bucket) {
        buckets.merge(step / width, bucket, both);
        while (buckets.size() > most) {
            width *= 2;
            var wider = new TreeMap<Integer, B>();
            buckets.forEach((index, narrow) -> wider.merge(index / 2, narrow, both));
            buckets = wider;
        }
    }

    /** Whether a bucket may have several steps. */
    boolean thin() {
        return width > 1;
    }

    public Collection<B> all() {
        return buckets.values();
    }
}
