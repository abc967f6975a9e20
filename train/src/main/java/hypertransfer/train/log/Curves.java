package hypertransfer.train.log;

import java.nio.file.Path;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.function.Consumer;

/**
 * The losses that a run has logged so far.
 *
 * @param losses the training loss of each step
 * @param validations the validation loss before a step
 */
public record Curves(NavigableMap<Integer, Double> losses, NavigableMap<Integer, Double> validations) {

    /** @param told what could not be read */
    public static Curves read(Path run, Consumer<String> told) {
        Curves curves = new Curves(new TreeMap<>(), new TreeMap<>());
        Tail metrics = new Run(run).metrics();
        metrics.lines(Line.class).forEach(line -> {
            switch (line) {
                case Line.Training t -> curves.losses.put(t.step(), t.loss());
                case Line.Validation v -> curves.validations.put(v.step(), v.loss());
                case Line.Matrices m -> {} // of another file
            }
        });
        metrics.tell(told);
        return curves;
    }
}
