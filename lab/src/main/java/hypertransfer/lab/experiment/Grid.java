package hypertransfer.lab.experiment;

import hypertransfer.core.Refusal;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/** The points of a sweep: every combination of the values of some keys. */
public record Grid(List<Axis> axes) {
    private static final int LARGEST = 10_000;

    /** One key and the values it takes. */
    public record Axis(String key, List<String> values) {
        private static Axis parse(String text) {
            int equals = text.indexOf('=');
            String key = text.substring(0, Math.max(0, equals)).strip();
            List<String> values = Arrays.stream(text.substring(equals + 1).split(",", -1))
                    .map(String::strip)
                    .toList();
            if (key.isEmpty() || values.stream().anyMatch(String::isEmpty)) {
                throw new Refusal("--grid is '" + text + "'; it must be KEY=VALUE,VALUE,..., such as rate=0.01,0.02");
            }
            if (values.stream().distinct().count() < values.size()) {
                throw new Refusal("--grid " + text + " has a value twice; name each value once");
            }
            String whole = key.equals("rate") ? "matrices.rate" : key.equals("adam_rate") ? "adamw.rate" : key;
            return new Axis(whole, values);
        }

        /** Whether this is the smallest or the largest of several numbers above zero. */
        boolean ends(String value) {
            try {
                double[] sorted = values.stream()
                        .mapToDouble(Double::parseDouble)
                        .sorted()
                        .toArray();
                double at = Double.parseDouble(value);
                return sorted.length > 1 && sorted[0] > 0 && (at == sorted[0] || at == sorted[sorted.length - 1]);
            } catch (NumberFormatException e) { // words have no order
                return false;
            }
        }
    }

    /** Reads the values of {@code --grid}. */
    public static Grid parse(List<String> texts) {
        List<Axis> axes = texts.stream().map(Axis::parse).toList();
        if (axes.stream().map(Axis::key).distinct().count() < axes.size()) {
            throw new Refusal("--grid has a key twice: " + String.join(" ", texts) + "; give all its values at once");
        }
        double points = axes.stream().mapToDouble(axis -> axis.values.size()).reduce(1, (a, b) -> a * b);
        if (points > LARGEST) {
            throw new Refusal("--grid has %.0f points; at most %,d can be trained".formatted(points, LARGEST));
        }
        return new Grid(axes);
    }

    /** All points, as settings; the last axis runs fastest. */
    public List<List<String>> points() {
        Stream<List<String>> points = Stream.of(List.of());
        for (Axis axis : axes) {
            points = points.flatMap(point -> axis.values.stream()
                    .map(value -> Stream.concat(point.stream(), Stream.of(axis.key + "=" + value))
                            .toList()));
        }
        return points.toList();
    }
}
