package hypertransfer.train.log;

import hypertransfer.core.Refusal;
import hypertransfer.train.file.Atomic;
import hypertransfer.train.file.Strict;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * How a run stands.
 *
 * @param step the steps taken, of {@code steps}
 * @param loss the last training loss; NaN where there is none
 * @param validation the last validation loss; NaN where there is none
 * @param kind the kind of its failure; null where it did not fail, or an older version wrote it
 * @param message the failure in a sentence; null where it did not fail
 */
public record Standing(
        State state, int step, int steps, double loss, double validation, FailureKind kind, String message) {

    public enum State {
        /** Nothing was logged and nothing is being written. Never stands in a file. */
        NOT_BEGUN,
        RUNNING,
        /** The file says running, but nobody is writing. Never stands in a file. */
        KILLED,
        INTERRUPTED,
        FAILED,
        FINISHED;

        /** As it is written and shown. */
        public String label() {
            return name().toLowerCase(Locale.ROOT).replace('_', ' ');
        }
    }

    private static final List<State> WRITTEN = List.of(State.RUNNING, State.INTERRUPTED, State.FAILED, State.FINISHED);

    /** As the run last said; running where it never did. */
    static Standing read(Path file) {
        if (!Files.exists(file)) {
            return new Standing(State.RUNNING, 0, 0, Double.NaN, Double.NaN, null, null);
        }
        try {
            JsonNode node = JsonMapper.shared().readTree(file);
            State state = WRITTEN.stream()
                    .filter(s -> s.label().equals(node.path("state").asString("")))
                    .findFirst()
                    .orElseThrow(() -> new Refusal(file + " has state " + node.path("state") + "; expected one of "
                            + Arrays.toString(WRITTEN.stream().map(State::label).toArray())));
            return new Standing(
                    state,
                    node.path("step").asInt(0),
                    node.path("steps").asInt(0),
                    number(node.path("loss")),
                    number(node.path("validation")),
                    FailureKind.parse(node.path("kind").asString("")),
                    node.path("message").asString(null));
        } catch (JacksonException e) {
            throw new Refusal(
                    file + " is damaged (" + Strict.reason(e) + "); continue the run, which writes it anew", e);
        }
    }

    private static double number(JsonNode node) {
        return node.isNumber() ? node.asDouble(Double.NaN) : Double.NaN;
    }

    void write(Path file) {
        ObjectNode node = JsonMapper.shared().createObjectNode();
        node.put("state", state.label()).put("step", step).put("steps", steps);
        Line.put(node, "loss", loss);
        Line.put(node, "validation", validation);
        if (kind != null) {
            node.put("kind", kind.label()).put("message", message);
        }
        Atomic.write(file, node.toString());
    }

    Standing with(State other) {
        return new Standing(other, step, steps, loss, validation, kind, message);
    }
}
