package hypertransfer.train.config;

import hypertransfer.core.Refusal;
import hypertransfer.train.file.Strict;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import tools.jackson.core.JacksonException;
import tools.jackson.core.exc.InputCoercionException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.exc.MismatchedInputException;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** Configurations as YAML: the defaults, a preset, a file and settings laid over each other. */
public final class ConfigurationFile {
    private ConfigurationFile() {}

    /** Resolved where they are first asked for: few commands do. */
    private static final class Defaults {
        static final Map<String, String> ALL = settings(of());
    }

    /** Reads a file, with {@code key=value} settings over it. */
    public static Configuration read(Path file, List<String> settings) {
        if (!Files.isRegularFile(file)) {
            throw new Refusal(file + " is not a file; give a configuration such as runs/muon.yaml");
        }
        return resolve(file.toString(), tree(file), settings);
    }

    private static JsonNode tree(Path file) {
        Strict.requireSmall(file);
        try {
            return Tree.YAML.readTree(file);
        } catch (JacksonException e) {
            throw new Refusal(file + " is not YAML: " + Strict.reason(e), e);
        }
    }

    /** Every key with its default and its meaning, as YAML. */
    public static String keys() {
        return Tree.defaults();
    }

    /** The setting of a key to exactly this text, whatever YAML would make of it. */
    public static String text(String key, String value) {
        return key + "=" + JsonMapper.shared().writeValueAsString(value); // which is YAML too
    }

    /** Refuses settings whose keys there are not, or that are no settings, in the name of what they were given by. */
    public static void check(String source, List<String> settings) {
        Tree tree = new Tree();
        settings.forEach(setting -> tree.set(source, setting));
    }

    /** Settings only, over the defaults. */
    public static Configuration of(String... settings) {
        return resolve("settings", Tree.YAML.createObjectNode(), List.of(settings));
    }

    /** Whether the version before had this key, and runs have only one value of it now, which reading a file checks. */
    public static boolean gone(String key) {
        return Tree.RETIRED.containsKey(key.substring(key.lastIndexOf('.') + 1));
    }

    public static boolean known(String key) {
        return new Tree().has(key);
    }

    public static Configuration with(Configuration configuration, String... settings) {
        return resolve("configuration", Tree.YAML.valueToTree(configuration), List.of(settings));
    }

    /** As it is written into the run's directory: every value, nothing left to a default. */
    public static String write(Configuration configuration) {
        return Tree.YAML.writeValueAsString(configuration);
    }

    /** What stands in a file, unchecked: every value under its whole key, {@code matrices.rate}, as people write it. */
    public static Map<String, String> settings(Configuration configuration) {
        return flat(Tree.YAML.valueToTree(configuration));
    }

    /** The same of a file of any version: keys that came later have their defaults, and keys that are gone are left out. */
    public static Map<String, String> settings(Path file) {
        Map<String, String> settings = new LinkedHashMap<>(Defaults.ALL);
        settings.putAll(flat(keys(file.toString(), tree(file))));
        settings.keySet().removeIf(ConfigurationFile::gone);
        return settings;
    }

    private static Map<String, String> flat(JsonNode node) {
        Map<String, String> flat = new LinkedHashMap<>();
        Tree.walk("", node, (key, value) -> {
            if (!value.isObject()) {
                flat.put(key, value.isDouble() ? plain(value.asDouble()) : value.asString("null"));
            }
        });
        return flat;
    }

    /** 0.0005, not 5.0E-4. */
    private static String plain(double number) {
        if (!Double.isFinite(number)) {
            return Double.toString(number);
        }
        BigDecimal value = BigDecimal.valueOf(number).stripTrailingZeros();
        return value.scale() > 9 ? value.toString().toLowerCase(Locale.ROOT) : value.toPlainString();
    }

    private static Configuration resolve(String source, JsonNode file, List<String> settings) {
        Tree tree = new Tree().lay(source, keys(source, file));
        settings.forEach(setting -> tree.set("--set", setting));
        return read(tree.complete(), Configuration.class, source, "").check();
    }

    /** A record of a tree; {@code prefix} stands before the keys in messages. */
    private static <T> T read(ObjectNode all, Class<T> type, String source, String prefix) {
        try {
            return Tree.YAML.treeToValue(all, type);
        } catch (MismatchedInputException e) {
            throw new Refusal(
                    prefix + key(e) + " is " + Tree.at(all, key(e)) + "; " + Strict.expected(e.getTargetType())
                            + " is expected",
                    e);
        } catch (InputCoercionException e) {
            boolean small = e.getTargetType() == int.class;
            throw new Refusal(
                    prefix + key(e) + " is " + Tree.at(all, key(e)) + "; a whole number from "
                            + (small ? Integer.MIN_VALUE : Long.MIN_VALUE) + " to "
                            + (small ? Integer.MAX_VALUE : Long.MAX_VALUE) + " is expected",
                    e);
        } catch (JacksonException e) {
            if (e.getCause() instanceof Refusal refusal) {
                String group = prefix.isEmpty() ? key(e).replaceFirst("\\..*", "") : source;
                throw group.isEmpty() ? refusal : Configuration.in(group, refusal);
            }
            throw new Refusal(prefix + key(e) + ": " + Strict.reason(e), e);
        }
    }

    static Collection<String> keys(Matrices matrices) {
        return Tree.YAML.valueToTree(matrices).propertyNames();
    }

    /** The hidden matrices' settings with those of a group over them. */
    static Matrices over(String group, Matrices matrices, Map<String, Object> settings) {
        ObjectNode all = Tree.YAML.valueToTree(matrices);
        settings.forEach((key, value) -> all.set(key, Tree.YAML.valueToTree(value)));
        all.putObject("groups");
        return read(all, Matrices.class, group, group + ".");
    }

    private static String key(JacksonException e) {
        return e.getPath().stream() // in snake case
                .map(r -> r.getPropertyName().replaceAll("([A-Z])", "_$1").toLowerCase(Locale.ROOT))
                .collect(Collectors.joining("."));
    }

    private static JsonNode keys(String source, JsonNode file) {
        if (!file.isObject() && !file.isNull() && !file.isMissingNode()) {
            throw new Refusal(source + " holds no keys; see docs/USE.md");
        }
        return file;
    }
}
