package hypertransfer.train.log;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.databind.json.JsonMapper;

/**
 * A line of {@code matrices.jsonl} read token by token: logs of gigabytes are nearly all such lines, and a tree of each
 * takes several times as long. It answers only for lines that are as they should be; {@link Line#matrices} has the words
 * for the others.
 */
final class Scan {
    private static final List<String> KEYS =
            List.of("norm", "target_norm", "rate", "effective", "angle", "implied_decay", "radial");
    /** An integer of more digits may not fit a long. */
    private static final int DIGITS = 18;

    private Scan() {}

    /** The line, or null where anything about it is unusual. */
    static Line.Matrices matrices(ByteBuffer bytes, int count) {
        try (JsonParser parser = JsonMapper.shared()
                .createParser(bytes.array(), bytes.arrayOffset() + bytes.position(), bytes.remaining())) {
            return parser.nextToken() == JsonToken.START_OBJECT ? object(parser, count) : null;
        } catch (JacksonException e) {
            return null;
        }
    }

    private static Line.Matrices object(JsonParser parser, int count) {
        double[][] arrays = new double[KEYS.size()][];
        int step = -1;
        for (String name = parser.nextName(); name != null; name = parser.nextName()) {
            JsonToken value = parser.nextToken();
            int key = KEYS.indexOf(name);
            if (key >= 0) {
                arrays[key] = value == JsonToken.START_ARRAY ? array(parser, count) : null;
                if (arrays[key] == null) {
                    return null;
                }
            } else if (name.equals("step")) {
                if (value != JsonToken.VALUE_NUMBER_INT || parser.getStringLength() > 9) {
                    return null;
                }
                step = parser.getIntValue();
            } else {
                parser.skipChildren();
            }
        }
        if (arrays[6] == null) { // earlier versions wrote none
            arrays[6] = new double[count];
            Arrays.fill(arrays[6], Double.NaN);
        }
        boolean whole = parser.currentToken() == JsonToken.END_OBJECT && parser.nextToken() == null;
        return !whole || step < 0 || Arrays.asList(arrays).contains(null)
                ? null
                : new Line.Matrices(step, arrays[0], arrays[1], arrays[2], arrays[3], arrays[4], arrays[5], arrays[6]);
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
