package hypertransfer.train.log;

import hypertransfer.core.Refusal;
import hypertransfer.train.Word;
import hypertransfer.train.file.Atomic;
import hypertransfer.train.file.Strict;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
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
public record RunStatus(
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
            return Word.of(this).replace('-', ' ');
        }
    }

    private record Written(
            String state, int step, int steps, JsonNode loss, JsonNode validation, String kind, String message) {}

    private static final List<State> WRITTEN = List.of(State.RUNNING, State.INTERRUPTED, State.FAILED, State.FINISHED);

    /** As the run last said; running where it never did. */
    static RunStatus read(Path file) {
        if (!Files.exists(file)) {
            return new RunStatus(State.RUNNING, 0, 0, Double.NaN, Double.NaN, null, null);
        }
        String what = "a run's state; it is damaged, and continuing the run writes it again";
        Written said = Strict.json(file, Written.class, what);
        State state = WRITTEN.stream()
                .filter(s -> s.label().equals(said.state))
                .findFirst()
                .orElseThrow(() -> new Refusal(file + " has state \"" + said.state + "\"; expected one of "
                        + WRITTEN.stream().map(State::label).toList()));
        return new RunStatus(
                state,
                said.step,
                said.steps,
                number(said.loss),
                number(said.validation),
                FailureKind.parse(said.kind == null ? "" : said.kind),
                said.message);
    }

    private static double number(JsonNode node) {
        return node != null && node.isNumber() ? node.asDouble(Double.NaN) : Double.NaN;
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

    RunStatus with(State other) {
        return new RunStatus(other, step, steps, loss, validation, kind, message);
    }
}
