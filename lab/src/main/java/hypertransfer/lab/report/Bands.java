package hypertransfer.lab.report;

import hypertransfer.train.log.Line.Matrices;
import hypertransfer.train.log.Turning;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import tools.jackson.databind.node.ObjectNode;

/**
 * The lines of the hidden matrices in {@link Buckets}: of each the first line, and of every number the smallest and the
 * largest.
 */
final class Bands {
    private static final Map<String, Function<Matrices, double[]>> COLUMNS = new LinkedHashMap<>();

    static {
        COLUMNS.put("norm", Matrices::norm);
        COLUMNS.put("target_norm", Matrices::targetNorm);
        COLUMNS.put("rate", Matrices::rate);
        COLUMNS.put("effective", Matrices::effective);
        COLUMNS.put("angle", Matrices::angle);
        COLUMNS.put("implied_decay", Matrices::impliedDecay);
        COLUMNS.put("radial", Matrices::radial);
    }

    /** How many numbers a line has for each matrix. */
    static final int WIDTH = COLUMNS.size();

    /** {@code low} and {@code high} are the first line's own numbers until another line joins. */
    private record Bucket(Matrices first, double angle, Map<String, double[]> low, Map<String, double[]> high) {
        static Bucket of(Matrices line, double angle) {
            var values = new LinkedHashMap<String, double[]>();
            COLUMNS.forEach((key, column) -> values.put(key, column.apply(line)));
            return new Bucket(line, angle, values, values);
        }

        Bucket and(Bucket next) {
            return new Bucket(first, angle, both(low, next.low, -1), both(high, next.high, 1));
        }

        private static Map<String, double[]> both(Map<String, double[]> a, Map<String, double[]> b, int sign) {
            var most = new LinkedHashMap<String, double[]>();
            a.forEach((key, left) -> {
                double[] right = b.get(key), row = new double[left.length];
                for (int m = 0; m < row.length; m++) {
                    row[m] = Double.isNaN(left[m]) || sign * right[m] > sign * left[m] ? right[m] : left[m];
                }
                most.put(key, row);
            });
            return most;
        }
    }

    private final Buckets<Bucket> buckets;
    private Bucket last;

    /** @param most the number of buckets at which their width is doubled */
    Bands(int most) {
        buckets = new Buckets<>(most, Bucket::and);
    }

    /**
     * Adds a line whose step comes after all others.
     *
     * @param angle the accumulated angle before that step
     */
    void add(Matrices line, double angle) {
        last = Bucket.of(line, angle);
        buckets.add(line.step(), last);
    }

    /**
     * Steps, at each the accumulated angle before it and the mean effective and nominal rate, and each column as rows over
     * the matrices: 32-bit floats, little-endian, in base64. {@code low} and {@code high} are the extremes from each step to the next, where lines were left out.
     */
    void write(ObjectNode into) {
        var rows = new ArrayList<>(buckets.all());
        if (last != null && rows.getLast().first != last.first) {
            rows.add(last);
        }
        Messages.column(into, "step", rows, row -> row.first.step());
        Messages.column(into, "turned", rows, Bucket::angle);
        Messages.column(into, "mean", rows, row -> Turning.mean(row.first.effective()));
        Messages.column(into, "nominal", rows, row -> Turning.mean(row.first.rate()));
        COLUMNS.keySet()
                .forEach(key ->
                        into.put(key, floats(rows, row -> COLUMNS.get(key).apply(row.first))));
        if (buckets.thin()) {
            ObjectNode low = into.putObject("low"), high = into.putObject("high");
            for (String key : COLUMNS.keySet()) {
                low.put(key, floats(rows, row -> row.low.get(key)));
                high.put(key, floats(rows, row -> row.high.get(key)));
            }
        }
    }

    private static String floats(List<Bucket> rows, Function<Bucket, double[]> column) {
        int count = rows.isEmpty() ? 0 : column.apply(rows.getFirst()).length;
        ByteBuffer bytes =
                ByteBuffer.allocate(Float.BYTES * count * rows.size()).order(ByteOrder.LITTLE_ENDIAN);
        for (Bucket row : rows) {
            for (double value : column.apply(row)) {
                bytes.putFloat((float) value);
            }
        }
        return Base64.getEncoder().encodeToString(bytes.array());
    }
}
