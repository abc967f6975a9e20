package hypertransfer.lab.report;

import hypertransfer.train.log.Gap;
import hypertransfer.train.log.Gap.Pair;
import hypertransfer.train.log.Line;
import hypertransfer.train.log.Line.Matrices;
import hypertransfer.train.log.Line.Training;
import hypertransfer.train.log.Line.Validation;
import hypertransfer.train.log.Provenance;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.RunStatus;
import hypertransfer.train.log.Tail;
import hypertransfer.train.log.Turning;
import hypertransfer.train.network.Outline;
import hypertransfer.train.optimizer.View;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * One run as the messages the page is made of: {@code run} once, which clears what the page had of it, then {@code lines},
 * {@code gap} and {@code state} whenever there is something new. A report holds the messages of one reading; a live page
 * continues.
 */
final class Messages {
    private static final JsonMapper JSON = JsonMapper.shared();
    /** Characters of a page that all runs share: for the numbers of their matrices, and for their losses. */
    private static final double MATRICES = 12e6, LOSSES = 4e6;
    /** Lines of a log after which a page gets what there is, so that a long run is seen while it is read. */
    private static final int AT_ONCE = 1 << 18;
    /** No screen is wider. */
    private static final int WIDEST = 1500;

    private final String name;
    final String target;
    private final Run run;
    private final Provenance provenance;
    private final Tail metrics;
    private final Tail matrices;
    private final Pair pair;
    private final int points;
    private final int rows;
    private Turning turning;
    private double elapsed;
    private String state = "";
    private String gap = "";
    private String damage = "";

    /** A step with the seconds that all steps up to it took. */
    private record Timed(Training line, double elapsed) {}

    private record Point(int step, double value) {}

    /** Where messages go; what is thrown there ends the reading. */
    interface Sink<E extends Exception> {
        void accept(String message) throws E;
    }

    /**
     * @param target the name of the run this one follows, or null
     * @param share the part of the page that this run's numbers may fill
     */
    Messages(String name, String target, Run run, double share) {
        this.name = name;
        this.target = target;
        this.run = run;
        provenance = run.provenance();
        metrics = run.metrics();
        matrices = run.matrices();
        int count = provenance.matrices().size();
        points = (int) Math.clamp(share * LOSSES / 250, 150, WIDEST);
        rows = (int) Math.clamp(share * MATRICES / (16.0 * Bands.WIDTH * Math.max(1, count)), 50, WIDEST);
        pair = target == null
                ? null
                : run.target().map(other -> new Pair(run, other)).orElse(null);
    }

    /** All messages since the last call; none where nothing happened. */
    List<String> read() {
        List<String> messages = new ArrayList<>();
        read(messages::add);
        return messages;
    }

    /** The same, each message as soon as it is there: of a long run the losses come before its matrices are read. */
    <E extends Exception> void read(Sink<E> messages) throws E {
        if (metrics.cut() || matrices.cut()) {
            metrics.rewind();
            matrices.rewind();
            state = gap = "";
            elapsed = 0;
        }
        boolean first = state.isEmpty();
        if (first) {
            messages.accept(header());
            turning = new Turning(provenance.matrices().size());
        }
        // The state comes first: a run that was finished before its lines were read has all of them.
        RunStatus now = run.status();
        // What was written before is thinned; what comes while somebody looks is taken as it comes.
        boolean thin = lines(first ? points : Integer.MAX_VALUE, first ? rows : Integer.MAX_VALUE, messages);
        if (pair != null) {
            gap(first && thin, messages);
        }
        String stateNow = state(now);
        if (!stateNow.equals(state)) {
            state = stateNow;
            messages.accept(state);
        }
    }

    private String header() {
        Map<String, String> settings = run.settings();
        ObjectNode node = message("run");
        node.put("target", target);
        node.put("folder", here(run.directory()).toString());
        node.put("network", settings.getOrDefault("network", "?") + " " + settings.getOrDefault("preset", ""));
        node.put("shape", shape(settings));
        node.put("direction", settings.get("matrices.direction"));
        node.put("mode", settings.get("matrices.mode"));
        node.put("engine", provenance.facts().get("engine"));
        node.set("config", JSON.valueToTree(settings));
        node.set("provenance", JSON.valueToTree(provenance.facts()));
        node.set("matrices", matrices());
        return node.toString();
    }

    /** Two runs can be laid over each other where this and the matrices are equal. */
    private static String shape(Map<String, String> settings) {
        return settings.getOrDefault("network", "?") + " with "
                + Stream.of("vocab", "layers", "width", "head")
                        .map(size -> size + " " + settings.getOrDefault("model." + size, "?"))
                        .collect(Collectors.joining(", "));
    }

    /** A path as a command takes it here. */
    static Path here(Path path) {
        Path here = Path.of("").toAbsolutePath(), whole = path.toAbsolutePath();
        return whole.startsWith(here) && !whole.equals(here) ? here.relativize(whole) : whole;
    }

    /** Every hidden matrix with its layer, its kind, and its number among the parts that a whole one was cut into. */
    private ArrayNode matrices() {
        Map<String, ObjectNode> known = new LinkedHashMap<>();
        provenance
                .matrices()
                .forEach(name -> known.put(name, JSON.createObjectNode().put("name", name)));
        for (int layer = 0; layer < known.size(); layer++) { // each layer has a matrix at least
            for (Outline.Kind kind : Outline.Kind.values()) {
                String whole = kind.hidden() ? kind.in(layer) : "";
                place(known.get(whole), layer, kind);
                for (int k = 0; known.containsKey(View.part(whole, k)); k++) {
                    place(known.get(View.part(whole, k)), layer, kind).put("part", k);
                }
            }
        }
        return JSON.createArrayNode().addAll(known.values());
    }

    private static ObjectNode place(ObjectNode matrix, int layer, Outline.Kind kind) {
        return matrix == null ? null : matrix.put("layer", layer).put("kind", kind.label());
    }

    private String state(RunStatus now) {
        boolean over = now.state() != RunStatus.State.RUNNING && now.state() != RunStatus.State.KILLED;
        ObjectNode node = message("state");
        node.put("state", now.state().label());
        node.put("step", now.step());
        node.put("steps", now.steps());
        damage = Stream.of(metrics.damage(over), matrices.damage(over))
                .filter(damaged -> damaged.lines() > 0)
                .map(damaged -> damaged + ", left out here")
                .collect(Collectors.joining("; "));
        String message = Stream.of(now.message(), damage, run.changed().orElse(null))
                .filter(text -> text != null && !text.isEmpty())
                .collect(Collectors.joining("; "));
        node.put("message", message.isEmpty() ? null : message);
        long updated = run.file(Run.METRICS).toFile().lastModified(); // 0 where no step was taken yet
        node.put("updated", updated == 0 ? null : Instant.ofEpochMilli(updated).toString());
        return node.toString();
    }

    /** What of the run's lines the last read left out; empty where all could be read. */
    String damage() {
        return damage;
    }

    /** The gap, where it has changed; where lines were left out also the differences, which the page could not take itself. */
    private <E extends Exception> void gap(boolean thin, Sink<E> messages) throws E {
        var training = new Thinned<>(points, Point::step, Point::value);
        var validation = new Thinned<>(points, Point::step, Point::value);
        Gap g = pair.read((line, difference) ->
                (line instanceof Validation ? validation : training).add(new Point(line.step(), difference)));
        ObjectNode node = message("gap");
        node.set("training", loss(g.training(), thin ? training : null));
        node.set("validation", loss(g.validation(), thin ? validation : null));
        node.put("logged", g.logged());
        Line.put(node, "norm", g.norm());
        Line.put(node, "rate", g.rate());
        angles(node);
        if (!node.toString().equals(gap)) {
            gap = node.toString();
            messages.accept(gap);
        }
    }

    /** What {@code ht transfer} measured at common checkpoints; a file that is not that is left out. */
    private void angles(ObjectNode node) {
        try {
            JsonNode angles = JSON.readTree(run.file(Run.ANGLES));
            for (String key : List.of("matrices", "momenta")) {
                angles.valueStream()
                        .mapToDouble(at -> at.path(key).asDouble(Double.NaN))
                        .max()
                        .ifPresent(largest -> Line.put(node, key, largest));
            }
        } catch (JacksonException e) {
            // none was measured
        }
    }

    private static ObjectNode loss(Gap.Loss loss, Thinned<Point> differences) {
        ObjectNode node = JSON.createObjectNode().put("steps", loss.steps());
        Line.put(node, "last", loss.last());
        Line.put(node, "largest", loss.largest());
        if (differences != null) {
            column(node, "step", differences.lines(), Point::step);
            column(node, "loss", differences.lines(), Point::value);
        }
        return node;
    }

    /** Tells the new lines where there are any; returns whether some were left out. */
    private <E extends Exception> boolean lines(int points, int rows, Sink<E> messages) throws E {
        var batch = new Batch(points, rows);
        boolean thin = false;
        for (Line line = metrics.next(); line != null; line = metrics.next()) {
            batch.add(line);
            thin |= batch.thin();
            if (batch.lines == AT_ONCE) {
                messages.accept(batch.message());
                batch = new Batch(points, rows);
            }
        }
        if (thin && batch.lines > 0) {
            messages.accept(batch.message());
            batch = new Batch(points, rows);
        }
        for (Line line = matrices.next(); line != null; line = matrices.next()) {
            batch.add(line);
        }
        if (batch.lines > 0) {
            messages.accept(batch.message());
        }
        return thin;
    }

    private final class Batch {
        private final Thinned<Timed> training;
        private final Thinned<Validation> validation;
        private final Bands hidden;
        private int lines;

        Batch(int points, int rows) {
            training = new Thinned<>(points, t -> t.line.step(), t -> t.line.loss());
            validation = new Thinned<>(points, Validation::step, Validation::loss);
            hidden = new Bands(rows);
        }

        void add(Line line) {
            lines++;
            switch (line) {
                case Training t -> {
                    elapsed += Double.isFinite(t.seconds()) ? t.seconds() : 0;
                    training.add(new Timed(t, elapsed));
                }
                case Validation v -> validation.add(v);
                case Matrices m -> {
                    turning.add(m);
                    hidden.add(m, turning.angleBefore());
                }
            }
        }

        boolean thin() {
            return training.thin() || validation.thin();
        }

        String message() {
            ObjectNode node = Messages.this.message("lines");
            Collection<Timed> losses = training.lines();
            Collection<Validation> validations = validation.lines();
            ObjectNode t = node.putObject("training");
            column(t, "step", losses, l -> l.line.step());
            column(t, "loss", losses, l -> l.line.loss());
            column(t, "rate", losses, l -> l.line.rate());
            column(t, "adam_rate", losses, l -> l.line.adamRate());
            column(t, "tokens", losses, l -> l.line.tokens());
            column(t, "elapsed", losses, Timed::elapsed);
            ObjectNode v = node.putObject("validation");
            column(v, "step", validations, Validation::step);
            column(v, "loss", validations, Validation::loss);
            column(v, "scales", validations, l -> l.carrier() - l.represented());
            ObjectNode m = node.putObject("matrices");
            hidden.write(m);
            ArrayNode peaks = m.putArray("peak"), last = m.putArray("last");
            Arrays.stream(turning.peaks).forEach(value -> Messages.add(peaks, value));
            Arrays.stream(turning.last).forEach(value -> Messages.add(last, value));
            ObjectNode turned = node.putObject("turning");
            Line.put(turned, "peak", turning.peak());
            Line.put(turned, "mean", turning.mean());
            Line.put(turned, "finalToPeak", turning.finalToPeak());
            Line.put(turned, "angle", turning.angle());
            return node.toString();
        }
    }

    private ObjectNode message(String type) {
        return JSON.createObjectNode().put("type", type).put("run", name);
    }

    static <T> void column(ObjectNode into, String key, Collection<T> lines, ToDoubleFunction<T> value) {
        ArrayNode array = into.putArray(key);
        lines.forEach(line -> add(array, value.applyAsDouble(line)));
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
