package hypertransfer.train.log;

import hypertransfer.core.Step;
import hypertransfer.train.file.Strict;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.function.ToDoubleFunction;
import java.util.stream.DoubleStream;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * One line of {@code metrics.jsonl} or {@code matrices.jsonl}: the one place that knows their keys. A number that is not
 * finite is null in the file and NaN here.
 */
public sealed interface Line {
    int step();

    /** Rises within a file: a step's validation is written before the step itself. */
    default long place() {
        return 2L * step() + (this instanceof Training ? 1 : 0);
    }

    /** NaN where it has none. */
    default double loss() {
        return Double.NaN;
    }

    /** As it is written, without the newline. */
    String text();

    /**
     * A step that was taken: the loss where its gradient was taken, the target's rate, AdamW's, all tokens seen.
     *
     * @param gradientNorm of all gradients as the target sees them; NaN unless they are clipped
     * @param kept what clipping left of it, 1 where nothing was clipped; NaN unless they are clipped
     */
    record Training(
            int step,
            double loss,
            double rate,
            double adamRate,
            long tokens,
            double gradientNorm,
            double kept,
            double seconds)
            implements Line {
        @Override
        public String text() {
            ObjectNode node = begin(step);
            put(node, "loss", loss);
            put(node, "rate", rate);
            put(node, "adam_rate", adamRate);
            node.put("tokens", tokens);
            if (!Double.isNaN(kept)) {
                put(node, "gradient_norm", gradientNorm);
                put(node, "kept", kept);
            }
            put(node, "seconds", seconds);
            return node.toString();
        }
    }

    /**
     * The validation loss before a step.
     *
     * @param represented the loss of the first micro-batch where the network is evaluated; NaN unless that is at another
     *     scale than the carrier's own
     * @param carrier the loss of the same micro-batch at the carrier's own scale
     */
    record Validation(int step, double loss, double represented, double carrier) implements Line {
        public Validation(int step, double loss) {
            this(step, loss, Double.NaN, Double.NaN);
        }

        @Override
        public String text() {
            ObjectNode node = begin(step);
            put(node, "validation", loss);
            if (!Double.isNaN(represented)) {
                put(node, "represented", represented);
                put(node, "carrier", carrier);
            }
            return node.toString();
        }
    }

    /** Arrays over the hidden matrices, in the order of {@code provenance.json}. */
    record Matrices(
            int step,
            double[] norm,
            double[] targetNorm,
            double[] rate,
            double[] effective,
            double[] angle,
            double[] impliedDecay,
            double[] radial,
            double[] push)
            implements Line {
        /** @param radial the cosine between each gradient and its matrix; null where it was not measured */
        public static Matrices of(int step, List<Step> taken, double[] radial) {
            return new Matrices(
                    step,
                    array(taken, Step::norm),
                    array(taken, Step::targetNorm),
                    array(taken, Step::nominal),
                    array(taken, Step::effective),
                    array(taken, Step::angle),
                    array(taken, Step::impliedDecay),
                    radial == null ? none(taken.size()) : radial,
                    array(taken, Step::push));
        }

        private static double[] array(List<Step> taken, ToDoubleFunction<Step> value) {
            return taken.stream().mapToDouble(value).toArray();
        }

        @Override
        public String text() {
            ObjectNode node = begin(step);
            put(node, "norm", norm);
            put(node, "target_norm", targetNorm);
            put(node, "rate", rate);
            put(node, "effective", effective);
            put(node, "angle", angle);
            put(node, "implied_decay", impliedDecay);
            if (!Arrays.stream(radial).allMatch(Double::isNaN)) {
                put(node, "radial", radial);
            }
            put(node, "push", push);
            return node.toString();
        }
    }

    /** Why a line cannot be taken. Whoever reads the file says which line it is. */
    final class Damaged extends Exception {
        Damaged(String why) {
            super(why, null, false, false);
        }
    }

    /** A line of {@code metrics.jsonl}. */
    static Line metric(ByteBuffer bytes) throws Damaged {
        JsonNode node = object(bytes);
        int step = step(node);
        return node.has("validation")
                ? new Validation(
                        step,
                        number(node, "validation"),
                        numberOrNone(node, "represented"),
                        numberOrNone(node, "carrier"))
                : new Training(
                        step,
                        number(node, "loss"),
                        number(node, "rate"),
                        number(node, "adam_rate"),
                        (long) number(node, "tokens"),
                        numberOrNone(node, "gradient_norm"),
                        numberOrNone(node, "kept"),
                        number(node, "seconds"));
    }

    /** A line of {@code matrices.jsonl} of a run that has so many hidden matrices. */
    static Line matrices(ByteBuffer bytes, int count) throws Damaged {
        JsonNode node = object(bytes);
        return new Matrices(
                step(node),
                numbers(node, "norm", count),
                numbers(node, "target_norm", count),
                numbers(node, "rate", count),
                numbers(node, "effective", count),
                numbers(node, "angle", count),
                numbers(node, "implied_decay", count),
                node.has("radial") ? numbers(node, "radial", count) : none(count), // in some lines only
                node.has("push") ? numbers(node, "push", count) : none(count)); // earlier versions did not write it
    }

    private static JsonNode object(ByteBuffer bytes) throws Damaged {
        try {
            JsonNode node = JsonMapper.shared()
                    .readTree(bytes.array(), bytes.arrayOffset() + bytes.position(), bytes.remaining());
            if (node.isObject()) {
                return node;
            }
        } catch (JacksonException e) {
            throw new Damaged("is not JSON (" + Strict.reason(e).replaceAll("\\s+", " ") + ")");
        }
        throw new Damaged("is not a JSON object");
    }

    private static int step(JsonNode node) throws Damaged {
        JsonNode step = node.path("step");
        if (!step.isInt() || step.intValue() < 0) {
            throw new Damaged("has no step");
        }
        return step.intValue();
    }

    private static double number(JsonNode node, String key) throws Damaged {
        if (!node.has(key)) {
            throw new Damaged("has no '" + key + "' among " + Set.copyOf(node.propertyNames()));
        }
        return value(node.get(key), key);
    }

    private static double numberOrNone(JsonNode node, String key) throws Damaged {
        return node.has(key) ? value(node.get(key), key) : Double.NaN;
    }

    private static double[] none(int count) {
        return DoubleStream.generate(() -> Double.NaN).limit(count).toArray();
    }

    private static double value(JsonNode value, String key) throws Damaged {
        // A double's text is never longer; one that is may be beyond every double.
        if (!value.isNull() && (!value.isNumber() || value.isBigInteger() || !Double.isFinite(value.asDouble()))) {
            String text = value.toString();
            throw new Damaged("has " + (text.length() > 40 ? text.substring(0, 40) + ".." : text) + " as '" + key
                    + "', not a number");
        }
        return value.isNull() ? Double.NaN : value.asDouble();
    }

    private static double[] numbers(JsonNode node, String key, int count) throws Damaged {
        JsonNode array = node.path(key);
        if (!array.isArray() || array.size() != count) {
            throw new Damaged("has " + (array.isArray() ? array.size() + " numbers" : "no array") + " in '" + key
                    + "'; provenance.json names " + count + " hidden matrices");
        }
        double[] numbers = new double[count];
        for (int i = 0; i < count; i++) {
            numbers[i] = value(array.get(i), key);
        }
        return numbers;
    }

    private static ObjectNode begin(int step) {
        return JsonMapper.shared().createObjectNode().put("step", step);
    }

    /** Puts a number; JSON has none that is not finite, so those become null. */
    static void put(ObjectNode node, String key, double value) {
        node.put(key, Double.isFinite(value) ? (Double) value : null);
    }

    private static void put(ObjectNode node, String key, double[] values) {
        ArrayNode array = node.putArray(key);
        for (double value : values) {
            array.add(Double.isFinite(value) ? (Double) value : null);
        }
    }
}
