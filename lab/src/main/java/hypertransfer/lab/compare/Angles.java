package hypertransfer.lab.compare;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import hypertransfer.core.Refusal;
import hypertransfer.train.file.Atomic;
import hypertransfer.train.log.Run;
import hypertransfer.train.tensorboard.Events;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import tools.jackson.databind.json.JsonMapper;

/**
 * How far a follower's directions are from its target's at one checkpoint that both have. The theorem says that both stay on
 * one ray, whatever their norms, and that their momenta are the same.
 *
 * @param matrices the largest angle between two hidden matrices of one name, in radians
 * @param matrix where that is
 * @param momenta the largest angle between what the directions of hidden matrices remember
 * @param momentum where that is
 */
public record Angles(long step, double matrices, String matrix, double momenta, String momentum) {
    /** At every checkpoint that both have, the oldest first; one that cannot be read is told and left out. */
    public static List<Angles> of(Run follower, Run target, PrintWriter out) {
        List<Angles> all = new ArrayList<>();
        for (long step : TensorDifference.commonSteps(follower, target).reversed()) {
            try {
                all.add(at(follower, target, step));
            } catch (Refusal | UncheckedIOException e) { // the target may still train and remove old checkpoints
                out.println("no angles at step " + step + ": " + e.getMessage());
            }
        }
        return all;
    }

    private static Angles at(Run follower, Run target, long step) {
        Set<String> hidden = Set.copyOf(follower.provenance().matrices());
        List<TensorDifference> rows = TensorDifference.all(follower, target, step).stream()
                .filter(row ->
                        hidden.contains(row.tensor().substring(row.tensor().indexOf(':') + 1)))
                .toList();
        TensorDifference matrix = largest(rows, false), momentum = largest(rows, true);
        return new Angles(step, matrix.angle(), matrix.tensor(), momentum.angle(), momentum.tensor());
    }

    private static TensorDifference largest(List<TensorDifference> rows, boolean memory) {
        return rows.stream()
                .filter(row -> row.tensor().contains(":") == memory)
                .max(Comparator.comparingDouble(TensorDifference::angle))
                .orElseThrow(() -> new Refusal("the two checkpoints have no hidden "
                        + (memory ? "matrix's momentum" : "matrix") + " in common"));
    }

    /** Into the follower's directory, where the page and TensorBoard find them: an object for each checkpoint. */
    public static void write(List<Angles> angles, Path run) {
        String text = JsonMapper.shared().writeValueAsString(angles);
        Path file = run.resolve(Run.ANGLES);
        if (Atomic.told(
                "read",
                file,
                () -> Files.exists(file) && Files.readString(file, ISO_8859_1).equals(text))) {
            return;
        }
        try (Events events = new Events(run, Integer.MAX_VALUE)) { // earlier files stay whole
            for (Angles a : angles) {
                events.scalar((int) a.step, "angle/matrices", a.matrices);
                events.scalar((int) a.step, "angle/momenta", a.momenta);
            }
            events.flush();
        }
        Atomic.write(file, text);
    }

    /** The lines below {@code ht transfer}'s table. */
    public static String table(List<Angles> angles) {
        if (angles.isEmpty()) {
            return "  angles             no checkpoint in common (checkpoint.every and checkpoint.keep say which are kept)\n";
        }
        return angles.stream()
                .map(a -> String.format(
                        "  step %-8d matrices %.1e (%s)   momenta %.1e (%s)%n",
                        a.step, a.matrices, a.matrix, a.momenta, a.momentum))
                .collect(Collectors.joining(
                        "", "angle to the target in radians, the largest over the hidden matrices\n", ""));
    }
}
