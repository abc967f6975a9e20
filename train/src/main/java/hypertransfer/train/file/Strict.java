package hypertransfer.train.file;

import hypertransfer.core.Refusal;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collection;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import tools.jackson.core.JacksonException;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.core.exc.InputCoercionException;
import tools.jackson.databind.DatabindException;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.MapperFeature;
import tools.jackson.databind.ObjectMapper;
import tools.jackson.databind.PropertyNamingStrategies;
import tools.jackson.databind.cfg.EnumFeature;
import tools.jackson.databind.cfg.MapperBuilder;
import tools.jackson.databind.exc.InvalidFormatException;
import tools.jackson.databind.exc.MismatchedInputException;
import tools.jackson.databind.json.JsonMapper;

/**
 * How records are read from JSON and YAML: a key that is unknown or stands twice, a number of the wrong kind, null for a
 * number and a number for a name are refused.
 */
public final class Strict {
    private static final long LARGEST = 4 << 20;

    /** How Jackson's sentences name what they met. */
    private static final Pattern KIND =
            Pattern.compile("(Array|Object|String|Boolean|Integer|Floating-point|Number) value(?: \\(([^(`]*)\\))?");

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
        if (e.getCause() instanceof IOException io) {
            return Atomic.reason(io);
        }
        return e instanceof MismatchedInputException other
                        && e.getOriginalMessage().startsWith("Cannot ")
                ? expected(other.getTargetType()) + " is expected, not " + found(other)
                : e.getOriginalMessage()
                        .replaceAll("\\b(?:java|tools|hypertransfer)\\.(?:\\w+[.$])+", "")
                        .replaceFirst("(?s)^Unexpected end-of-input.*", "it ends in the middle")
                        .replaceFirst("(?s)^Trailing token.*", "something follows where it should end")
                        .replaceFirst("^Duplicate Object property (\"[^\"]*\")", "the key $1 is there twice")
                        .replaceAll("\\s*\\R\\s*(\\^\\s*)?", " ")
                        .replaceFirst(
                                "^Numeric value \\((.*?)\\) out of range of `\\w+`", "the number $1 is out of range")
                        .replace(" in reader, line", ", line")
                        .strip();
    }

    /** What a file must have where a record has a value of this type. */
    public static String expected(Class<?> type) {
        return switch (type.getSimpleName()) {
            case "int", "long", "Integer", "Long" -> "a whole number";
            case "double" -> "a number such as 0.01 or 1e-2";
            case "Double" -> "a number or null";
            case "boolean", "Boolean" -> "true or false";
            default ->
                type.isEnum()
                        ? "one of " + Arrays.toString(type.getEnumConstants())
                        : Collection.class.isAssignableFrom(type) || type.isArray()
                                ? "a list"
                                : Map.class.isAssignableFrom(type) || type.isRecord() ? "a group of keys" : "a text";
        };
    }

    /** What is there instead, as far as Jackson says it. */
    private static String found(MismatchedInputException e) {
        if (e instanceof InvalidFormatException format) {
            return JSON.writeValueAsString(format.getValue());
        }
        Matcher met = KIND.matcher(e.getOriginalMessage());
        if (!met.find()) {
            return e.getOriginalMessage().startsWith("Cannot map `null`") ? "null" : "this";
        }
        boolean value = met.group(2) != null && !met.group(2).startsWith("token ");
        return switch (value ? "" : met.group(1)) {
            case "" -> met.group(2);
            case "Array" -> "a list";
            case "Object" -> "a group of keys";
            case "String" -> "a text";
            case "Boolean" -> "true or false";
            default -> "a number";
        };
    }

    /** The key at which reading failed, as it is written in the file. */
    public static String place(JacksonException e) {
        boolean value = e instanceof DatabindException || e instanceof InputCoercionException;
        if (!value || e.getPath().isEmpty()) { // broken text belongs to no key
            return "";
        }
        return e.getPath().stream()
                        .map(r -> r.getPropertyName() == null ? "[" + r.getIndex() + "]" : r.getPropertyName())
                        .collect(Collectors.joining("."))
                + ": ";
    }
}
