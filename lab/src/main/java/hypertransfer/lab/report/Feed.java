package hypertransfer.lab.report;

import hypertransfer.core.Refusal;
import hypertransfer.lab.report.Line.Matrices;
import hypertransfer.lab.report.Line.Training;
import hypertransfer.lab.report.Line.Validation;
import hypertransfer.train.run.RunDirectory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * One run as the messages the page is made of: {@code run} once, which clears what the page had of it, then {@code lines}
 * and {@code state} whenever there is something new. A report holds the messages of one reading, a live page goes on.
 */
final class Feed {
    private static final JsonMapper JSON = JsonMapper.shared();

    private final String name;
    private final String target;
    private final RunFiles files;
    private final Tail metrics;
    private final Tail matrices;
    private String state = "";
    private int trained = -1;
    private int validated = -1;
    private int logged = -1;

    /** {@code target} is the name of the run this one follows, or null. */
    Feed(String name, String target, RunFiles files) {
        this.name = name;
        this.target = target;
        this.files = files;
        this.metrics = new Tail(files.directory().resolve(RunDirectory.METRICS));
        this.matrices = new Tail(files.directory().resolve(RunDirectory.MATRICES));
    }

    /** All messages since the last call; none where nothing happened. */
    List<String> read() {
        List<String> messages = new ArrayList<>();
        if (metrics.cut() || matrices.cut()) {
            metrics.rewind();
            matrices.rewind();
            state = "";
            trained = validated = logged = -1;
        }
        if (state.isEmpty()) {
            messages.add(header());
        }
        // The state comes first: a run that was finished before its lines were read has all of them.
        RunFiles.State now = files.state();
        for (ObjectNode lines = lines(); lines != null; lines = lines()) {
            messages.add(lines.toString());
        }
        for (Tail tail : List.of(metrics, matrices)) {
            if (now.state().equals("finished") && tail.halfLine()) {
                throw Line.damaged(tail.next(), "ends in the middle, though the run is finished", null);
            }
        }
        String message = state(now);
        if (!message.equals(state)) {
            state = message;
            messages.add(message);
        }
        return messages;
    }

    private String header() {
        ObjectNode node = message("run");
        node.put("target", target);
        node.put("network", files.network());
        node.put("shape", files.shape());
        node.put("direction", files.setting("matrices.direction").orElse(null));
        node.put("mode", files.setting("matrices.mode").orElse(null));
        node.put("engine", files.provenance().get("engine"));
        node.set("config", JSON.valueToTree(files.config()));
        node.set("provenance", JSON.valueToTree(files.provenance()));
        node.set("matrices", JSON.valueToTree(files.matrices()));
        return node.toString();
    }

    private String state(RunFiles.State now) {
        ObjectNode node = message("state");
        node.put("state", now.state());
        node.put("step", now.step());
        node.put("steps", now.steps());
        node.put("message", now.message());
        try {
            Path file = files.directory().resolve(RunDirectory.METRICS);
            node.put("updated", Files.getLastModifiedTime(file).toInstant().toString());
        } catch (NoSuchFileException e) {
            node.putNull("updated"); // no step was taken yet
        } catch (IOException e) {
            throw new Refusal(files.directory() + " cannot be read (" + e + ")", e);
        }
        return node.toString();
    }

    private ObjectNode lines() {
        List<Training> training = new ArrayList<>();
        List<Validation> validation = new ArrayList<>();
        List<Matrices> hidden = new ArrayList<>();
        for (Tail.Entry entry : metrics.read()) {
            switch (Line.metric(entry.text(), entry.where())) {
                case Training line -> {
                    trained = after(trained, line, entry);
                    training.add(line);
                }
                case Validation line -> {
                    validated = after(validated, line, entry);
                    validation.add(line);
                }
                case Matrices line -> throw new AssertionError(line);
            }
        }
        for (Tail.Entry entry : matrices.read()) {
            Matrices line = Line.matrices(entry.text(), files.matrices().size(), entry.where());
            logged = after(logged, line, entry);
            hidden.add(line);
        }
        if (training.isEmpty() && validation.isEmpty() && hidden.isEmpty()) {
            return null;
        }
        ObjectNode node = message("lines");
        ObjectNode t = node.putObject("training");
        column(t, "step", training, Training::step);
        column(t, "loss", training, Training::loss);
        column(t, "rate", training, Training::rate);
        column(t, "adam_rate", training, Training::adamRate);
        column(t, "tokens", training, Training::tokens);
        column(t, "seconds", training, Training::seconds);
        ObjectNode v = node.putObject("validation");
        column(v, "step", validation, Validation::step);
        column(v, "loss", validation, Validation::loss);
        ObjectNode m = node.putObject("matrices");
        column(m, "step", hidden, Matrices::step);
        rows(m, "norm", hidden, Matrices::norm);
        rows(m, "target_norm", hidden, Matrices::targetNorm);
        rows(m, "rate", hidden, Matrices::rate);
        rows(m, "effective", hidden, Matrices::effective);
        rows(m, "angle", hidden, Matrices::angle);
        rows(m, "implied_decay", hidden, Matrices::impliedDecay);
        return node;
    }

    private static int after(int previous, Line line, Tail.Entry entry) {
        if (line.step() <= previous) {
            throw Line.damaged(entry.where(), "has step " + line.step() + " after step " + previous, null);
        }
        return line.step();
    }

    private ObjectNode message(String type) {
        return JSON.createObjectNode().put("type", type).put("run", name);
    }

    private static <T> void column(ObjectNode into, String key, List<T> lines, ToDoubleFunction<T> value) {
        ArrayNode array = into.putArray(key);
        lines.forEach(line -> add(array, value.applyAsDouble(line)));
    }

    private static <T> void rows(ObjectNode into, String key, List<T> lines, Function<T, double[]> values) {
        ArrayNode array = into.putArray(key);
        for (T line : lines) {
            ArrayNode row = array.addArray();
            for (double value : values.apply(line)) {
                add(row, value);
            }
        }
    }

    private static void add(ArrayNode array, double value) {
        if (!Double.isFinite(value)) {
            array.addNull();
        } else if (value == Math.rint(value) && Math.abs(value) < 1L << 53) {
            array.add((long) value); // steps and tokens as people write them
        } else {
            array.add(value);
        }
    }
}
