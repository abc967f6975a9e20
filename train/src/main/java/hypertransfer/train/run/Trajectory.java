package hypertransfer.train.run;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import tools.jackson.databind.JsonNode;

/**
 * What a run has logged so far.
 *
 * @param losses the training loss of each step
 * @param validations the validation loss before a step
 * @param matrices for each logged step and series, a number for each hidden matrix
 */
public record Trajectory(
        NavigableMap<Integer, Double> losses,
        NavigableMap<Integer, Double> validations,
        NavigableMap<Integer, Matrices> matrices) {

    /** One line of matrices.jsonl; NaN where it has null. */
    public record Matrices(List<Double> norm, List<Double> targetNorm, List<Double> rate, List<Double> effective) {}

    public static Trajectory read(Path directory) {
        Trajectory t = new Trajectory(new TreeMap<>(), new TreeMap<>(), new TreeMap<>());
        Series.read(directory.resolve(RunDirectory.METRICS), line -> {
            int step = line.path("step").asInt(-1);
            if (line.has("loss")) {
                t.losses.put(step, line.get("loss").asDouble(Double.NaN));
            }
            if (line.has("validation")) {
                t.validations.put(step, line.get("validation").asDouble(Double.NaN));
            }
        });
        Series.read(
                directory.resolve(RunDirectory.MATRICES),
                line -> t.matrices.put(
                        line.path("step").asInt(-1),
                        new Matrices(
                                numbers(line, "norm"),
                                numbers(line, "target_norm"),
                                numbers(line, "rate"),
                                numbers(line, "effective"))));
        return t;
    }

    private static List<Double> numbers(JsonNode line, String key) {
        List<Double> numbers = new ArrayList<>();
        line.path(key).forEach(number -> numbers.add(number.isNumber() ? number.asDouble() : Double.NaN));
        return numbers;
    }
}
