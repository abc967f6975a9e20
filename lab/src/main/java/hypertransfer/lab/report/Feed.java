package hypertransfer.lab.report;

import hypertransfer.core.Refusal;
import hypertransfer.train.log.Damage;
import hypertransfer.train.log.Gap;
import hypertransfer.train.log.Line;
import hypertransfer.train.log.Line.Matrices;
import hypertransfer.train.log.Line.Training;
import hypertransfer.train.log.Line.Validation;
import hypertransfer.train.log.Pair;
import hypertransfer.train.log.Provenance;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.Standing;
import hypertransfer.train.log.Tail;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * One run as the messages the page is made of: {@code run} once, which clears what the page had of it, then {@code lines},
 * {@code gap} and {@code state} whenever there is something new. A report holds the messages of one reading; a live page
 * continues.
 */
final class Feed {
    private static final JsonMapper JSON = JsonMapper.shared();
    /** So many numbers make one message, so that a long run never stands in memory as one. */
    private static final int NUMBERS = 1 << 20;

    private final String name;
    private final String target;
    private final Run run;
    private final Provenance provenance;
    private final Tail metrics;
    private final Tail matrices;
    private final Pair pair;
    private String state = "";
    private String gap = "";

    /** {@code target} is the name of the run this one follows, or null. */
    Feed(String name, String target, Run run) {
        this.name = name;
        this.target = target;
        this.run = run;
        provenance = run.provenance();
        metrics = run.metrics();
        matrices = run.matrices();
        pair = target == null
                ? null
                : run.target().map(other -> new Pair(run, other)).orElse(null);
    }

    /** All messages since the last call; none where nothing happened. */
    List<String> read() {
        List<String> messages = new ArrayList<>();
        if (metrics.cut() || matrices.cut()) {
            metrics.rewind();
            matrices.rewind();
            state = gap = "";
        }
        if (state.isEmpty()) {
            messages.add(header());
        }
        // The state comes first: a run that was finished before its lines were read has all of them.
        Standing now = run.standing();
        for (ObjectNode lines = lines(); lines != null; lines = lines()) {
            messages.add(lines.toString());
        }
        String gapNow = pair == null ? "" : gap(pair.read());
        if (!gapNow.equals(gap)) {
            gap = gapNow;
            messages.add(gap);
        }
        String stateNow = state(now);
        if (!stateNow.equals(state)) {
            state = stateNow;
            messages.add(state);
        }
        return messages;
    }

    private String header() {
        Map<String, String> settings = run.settings();
        ObjectNode node = message("run");
        node.put("target", target);
        node.put("network", settings.getOrDefault("network", "?") + " " + settings.getOrDefault("preset", ""));
        node.put("shape", Runs.shape(settings));
        node.put("direction", settings.get("matrices.direction"));
        node.put("mode", settings.get("matrices.mode"));
        node.put("engine", provenance.facts().get("engine"));
        node.set("config", JSON.valueToTree(settings));
        node.set("provenance", JSON.valueToTree(provenance.facts()));
        node.set("matrices", JSON.valueToTree(provenance.matrices()));
        return node.toString();
    }

    private String state(Standing now) {
        boolean over = now.state() != Standing.State.RUNNING && now.state() != Standing.State.KILLED;
        ObjectNode node = message("state");
        node.put("state", now.state().label());
        node.put("step", now.step());
        node.put("steps", now.steps());
        String message = Stream.of(now.message(), damage(metrics, over), damage(matrices, over))
                .filter(text -> text != null && !text.isEmpty())
                .collect(Collectors.joining("; "));
        node.put("message", message.isEmpty() ? null : message);
        try {
            node.put(
                    "updated",
                    Files.getLastModifiedTime(run.file(Run.METRICS)).toInstant().toString());
        } catch (NoSuchFileException e) {
            node.putNull("updated"); // no step was taken yet
        } catch (IOException e) {
            throw new Refusal(run.directory() + " cannot be read (" + e + ")", e);
        }
        return node.toString();
    }

    private static String damage(Tail tail, boolean over) {
        Damage damage = tail.damage(over);
        return damage.lines() == 0 ? "" : damage + ", left out here";
    }

    private String gap(Gap g) {
        ObjectNode node = message("gap");
        loss(node.putObject("training"), g.training());
        loss(node.putObject("validation"), g.validation());
        node.put("logged", g.logged());
        number(node, "norm", g.norm());
        number(node, "rate", g.rate());
        return node.toString();
    }

    private static void loss(ObjectNode node, Gap.Loss loss) {
        node.put("steps", loss.steps());
        number(node, "last", loss.last());
        number(node, "largest", loss.largest());
    }

    private ObjectNode lines() {
        List<Training> training = new ArrayList<>();
        List<Validation> validation = new ArrayList<>();
        List<Matrices> hidden = new ArrayList<>();
        int numbers = 0;
        for (Line line = next(); line != null; line = numbers < NUMBERS ? next() : null) {
            switch (line) {
                case Training t -> training.add(t);
                case Validation v -> validation.add(v);
                case Matrices m -> hidden.add(m);
            }
            numbers += line instanceof Matrices ? 6 * provenance.matrices().size() : 6;
        }
        if (numbers == 0) {
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

    private Line next() {
        Line line = metrics.next();
        return line == null ? matrices.next() : line;
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

    private static void number(ObjectNode node, String key, double value) {
        if (Double.isFinite(value)) {
            node.put(key, value);
        } else {
            node.putNull(key);
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
