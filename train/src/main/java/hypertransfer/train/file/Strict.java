package hypertransfer.train.file;

import hypertransfer.core.Refusal;
import java.io.IOException;
import java.nio.file.Path;
import java.util.stream.Collectors;
import tools.jackson.core.JacksonException;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.databind.DatabindException;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.MapperFeature;
import tools.jackson.databind.ObjectMapper;
import tools.jackson.databind.PropertyNamingStrategies;
import tools.jackson.databind.cfg.EnumFeature;
import tools.jackson.databind.cfg.MapperBuilder;
import tools.jackson.databind.json.JsonMapper;

/**
 * How records are read from JSON and YAML: a key that is unknown or stands twice, a number of the wrong kind, null for a
 * number and a number for a name are refused.
 */
public final class Strict {
    private static final long LARGEST = 4 << 20;

    private static final JsonMapper JSON = strict(JsonMapper.builder()).build();

    private Strict() {}

    /** The same rules for any mapper; keys are in snake case. */
    public static <B extends MapperBuilder<?, B>> B strict(B builder) {
        return builder.propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
                .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
                .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT)
                .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
                .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
                .enable(EnumFeature.FAIL_ON_NUMBERS_FOR_ENUMS)
                .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION);
    }

    /** @param what what the file should be, for the refusal */
    public static <T> T json(Path file, Class<T> type, String what) {
        return read(JSON, file, type, what);
    }

    /** The same with a mapper of one's own. */
    public static <T> T read(ObjectMapper mapper, Path file, Class<T> type, String what) {
        Atomic.requireRegular(file);
        try {
            T record = mapper.readValue(file, type);
            if (record == null) {
                throw new Refusal(file + " is not " + what + ": it contains null");
            }
            return record;
        } catch (JacksonException e) {
            throw new Refusal(file + " is not " + what + ": " + place(e) + reason(e), e);
        }
    }

    /** Refuses a file that nobody has written by hand, before much time is spent on it. */
    public static void requireSmall(Path file) {
        long size = file.toFile().length();
        if (size > LARGEST) {
            throw new Refusal(file + " has " + size + " bytes, but a configuration or an experiment has at most "
                    + LARGEST + "; give one, such as runs/muon.yaml");
        }
    }

    /** What is wrong with a text, without the names of Java's classes. */
    public static String reason(JacksonException e) {
        return e.getCause() instanceof IOException io
                ? Atomic.reason(io)
                : e.getOriginalMessage()
                        .replaceAll("\\b(?:java|tools|hypertransfer)\\.(?:\\w+[.$])+", "")
                        .replaceFirst("(?s)^Unexpected end-of-input.*", "it ends in the middle")
                        .replaceFirst("^Duplicate Object property (\"[^\"]*\")", "the key $1 is there twice")
                        .replaceAll("\\s*\\R\\s*(\\^\\s*)?", " ")
                        .replace(" in reader, line", ", line")
                        .strip();
    }

    /** The key at which reading failed, as it is written in the file. */
    public static String place(JacksonException e) {
        if (!(e instanceof DatabindException bad) || bad.getPath().isEmpty()) {
            return "";
        }
        return bad.getPath().stream()
                        .map(r -> r.getPropertyName() == null ? "[" + r.getIndex() + "]" : r.getPropertyName())
                        .collect(Collectors.joining("."))
                + ": ";
    }
}
