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

        /** Two values further out than one on the edge, and that one; empty where it has neighbours on both sides. */
        List<Double> beyond(String value) {
            double[] sorted;
            double at;
            try {
                sorted = values.stream()
                        .mapToDouble(Double::parseDouble)
                        .sorted()
                        .toArray();
                at = Double.parseDouble(value);
            } catch (NumberFormatException e) { // words have no order
                return List.of();
            }
            int last = sorted.length - 1;
            if (last < 1 || sorted[0] <= 0 || at != sorted[0] && at != sorted[last]) {
                return List.of();
            }
            double q = at == sorted[0] ? sorted[0] / sorted[1] : sorted[last] / sorted[last - 1];
            return Stream.of(at, at * q, at * q * q).sorted().toList();
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
