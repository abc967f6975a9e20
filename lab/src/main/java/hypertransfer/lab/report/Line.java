package hypertransfer.lab.report;

import hypertransfer.core.Refusal;
import java.util.Set;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** One line of {@code metrics.jsonl} or {@code matrices.jsonl}. A number that the file has as null is NaN. */
sealed interface Line {

    int step();

    record Training(int step, double loss, double rate, double adamRate, double tokens, double seconds)
            implements Line {}

    record Validation(int step, double loss) implements Line {}

    /** Arrays over the hidden matrices, in the order of {@code provenance.json}. */
    record Matrices(
            int step,
            double[] norm,
            double[] targetNorm,
            double[] rate,
            double[] effective,
            double[] angle,
            double[] impliedDecay)
            implements Line {}

    JsonMapper JSON = JsonMapper.shared();

    /** A line of {@code metrics.jsonl}; {@code where} names file and line for the refusal. */
    static Line metric(String text, String where) {
        JsonNode node = object(text, where);
        return node.has("validation")
                ? new Validation(step(node, where), number(node, "validation", where))
                : new Training(
                        step(node, where),
                        number(node, "loss", where),
                        number(node, "rate", where),
                        number(node, "adam_rate", where),
                        number(node, "tokens", where),
                        number(node, "seconds", where));
    }

    /** A line of {@code matrices.jsonl} of a run that has {@code count} hidden matrices. */
    static Matrices matrices(String text, int count, String where) {
        JsonNode node = object(text, where);
        return new Matrices(
                step(node, where),
                numbers(node, "norm", count, where),
                numbers(node, "target_norm", count, where),
                numbers(node, "rate", count, where),
                numbers(node, "effective", count, where),
                numbers(node, "angle", count, where),
                numbers(node, "implied_decay", count, where));
    }

    private static JsonNode object(String text, String where) {
        try {
            JsonNode node = JSON.readTree(text);
            if (node.isObject()) {
                return node;
            }
        } catch (JacksonException e) {
            throw damaged(where, "is not JSON (" + e.getOriginalMessage() + ")", e);
        }
        throw damaged(where, "is not a JSON object", null);
    }

    private static int step(JsonNode node, String where) {
        JsonNode step = node.path("step");
        if (!step.isInt() || step.intValue() < 0) {
            throw damaged(where, "has no step", null);
        }
        return step.intValue();
    }

    private static double number(JsonNode node, String key, String where) {
        if (!node.has(key)) {
            throw damaged(where, "has no '" + key + "' among " + Set.copyOf(node.propertyNames()), null);
        }
        return value(node.path(key), "'" + key + "'", where);
    }

    private static double value(JsonNode value, String what, String where) {
        if (!value.isNumber() && !value.isNull()) {
            throw damaged(where, "has " + value + " as " + what + ", not a number", null);
        }
        return value.isNull() ? Double.NaN : value.doubleValue();
    }

    private static double[] numbers(JsonNode node, String key, int count, String where) {
        JsonNode array = node.path(key);
        if (!array.isArray() || array.size() != count) {
            throw damaged(
                    where,
                    "has " + (array.isArray() ? array.size() + " numbers" : "no array") + " in '" + key
                            + "'; provenance.json names " + count + " hidden matrices",
                    null);
        }
        double[] numbers = new double[count];
        for (int i = 0; i < count; i++) {
            numbers[i] = value(array.get(i), "'" + key + "'", where);
        }
        return numbers;
    }

    /** Why a line cannot be read, and what the user can do. */
    static Refusal damaged(String where, String why, Throwable cause) {
        return new Refusal(where + " " + why + "; the file is damaged: leave this run out, or resume it", cause);
    }
}
