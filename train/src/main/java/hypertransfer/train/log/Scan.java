package hypertransfer.train.log;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.databind.json.JsonMapper;

/**
 * A line of {@code matrices.jsonl} read token by token: logs of gigabytes are nearly all such lines, and a tree of each
 * takes several times as long. It answers only for lines that are as they should be; {@link Line#matrices} has the words
 * for the others.
 *
 * @param arrays those of {@link Line#ARRAYS}, and of the later ones those that are there
 */
record Scan(int step, Map<String, double[]> arrays) {
    /** An integer of more digits may not fit a long. */
    private static final int DIGITS = 18;

    /** The line, or null where anything about it is unusual. */
    static Scan of(ByteBuffer bytes, int count) {
        try (JsonParser parser = JsonMapper.shared()
                .createParser(bytes.array(), bytes.arrayOffset() + bytes.position(), bytes.remaining())) {
            return parser.nextToken() == JsonToken.START_OBJECT ? object(parser, count) : null;
        } catch (JacksonException e) {
            return null;
        }
    }

    private static Scan object(JsonParser parser, int count) {
        Map<String, double[]> arrays = new HashMap<>();
        int step = -1;
        for (String name = parser.nextName(); name != null; name = parser.nextName()) {
            JsonToken value = parser.nextToken();
            if (name.equals("step")) {
                if (value != JsonToken.VALUE_NUMBER_INT || parser.getStringLength() > 9) {
                    return null;
                }
                step = parser.getIntValue();
            } else if (Line.ARRAYS.contains(name) || Line.LATER_ARRAYS.contains(name)) {
                double[] array = value == JsonToken.START_ARRAY ? array(parser, count) : null;
                if (array == null) {
                    return null;
                }
                arrays.put(name, array);
            } else {
                parser.skipChildren();
            }
        }
        boolean whole = parser.currentToken() == JsonToken.END_OBJECT && parser.nextToken() == null;
        return whole && step >= 0 && arrays.keySet().containsAll(Line.ARRAYS) ? new Scan(step, arrays) : null;
    }

    private static double[] array(JsonParser parser, int count) {
        double[] numbers = new double[count];
        for (int i = 0; i < count; i++) {
            switch (parser.nextToken()) {
                case VALUE_NUMBER_FLOAT -> numbers[i] = parser.getDoubleValue();
                case VALUE_NUMBER_INT ->
                    numbers[i] = parser.getStringLength() > DIGITS ? Double.NEGATIVE_INFINITY : parser.getLongValue();
                case VALUE_NULL -> {
                    numbers[i] = Double.NaN;
                    continue;
                }
                default -> {
                    return null;
                }
            }
            if (!Double.isFinite(numbers[i])) {
                return null;
            }
        }
        return parser.nextToken() == JsonToken.END_ARRAY ? numbers : null;
    }
}
