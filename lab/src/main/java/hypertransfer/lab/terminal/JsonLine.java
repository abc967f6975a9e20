package hypertransfer.lab.terminal;

import tools.jackson.databind.PropertyNamingStrategies;
import tools.jackson.databind.json.JsonMapper;

/** What a command says for a program to read: one line, its names as in {@code max_loss_error}. */
public final class JsonLine {
    private static final JsonMapper JSON = JsonMapper.builder()
            .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
            .build();

    private JsonLine() {}

    public static String of(Object value) {
        return JSON.writeValueAsString(value);
    }
}
