package hypertransfer.lab;

import tools.jackson.databind.PropertyNamingStrategies;
import tools.jackson.databind.json.JsonMapper;

/** What a command says for a program to read: one line, its names as in {@code max_loss_error}. */
final class JsonLine {
    private static final JsonMapper JSON = JsonMapper.builder()
            .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
            .build();

    private JsonLine() {}

    static String of(Object value) {
        return JSON.writeValueAsString(value);
    }
}
