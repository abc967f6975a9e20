package hypertransfer.train.config;

import hypertransfer.core.Refusal;
import hypertransfer.train.file.Strict;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Preset;
import hypertransfer.train.network.Variant;
import java.io.IOException;
import java.io.InputStream;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.exc.MismatchedInputException;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;
import tools.jackson.dataformat.yaml.YAMLMapper;

/** Configurations as YAML: the defaults, a preset, a file and settings laid over each other. */
public final class ConfigurationFile {
    private static final YAMLMapper YAML = Strict.strict(YAMLMapper.builder()).build();

    private static final Set<String> OPEN = Set.of("matrices.recorded", "matrices.proxy_growth", "from.run", "target");

    private static final Set<String> PATHS =
            Set.of("matrices.recorded", "from.run", "target", "data.train", "data.validation");

    private ConfigurationFile() {}

    /** Reads a file, with {@code key=value} settings over it. */
    public static Configuration read(Path file, List<String> settings) {
        if (!Files.isRegularFile(file)) {
            throw new Refusal(file + " is not a file; give a configuration such as runs/muon.yaml");
        }
        try {
            return resolve(file.toString(), YAML.readTree(file), settings);
        } catch (JacksonException e) {
            throw new Refusal(file + " is not YAML: " + e.getOriginalMessage(), e);
        }
    }

    /** The setting of a key to exactly this text, whatever YAML would make of it. */
    public static String text(String key, String value) {
        return key + "=" + JsonMapper.shared().writeValueAsString(value); // which is YAML too
    }

    /** Settings only, over the defaults. */
    public static Configuration of(String... settings) {
        return resolve("settings", YAML.createObjectNode(), List.of(settings));
    }

    /** A configuration with a few values changed. */
    public static Configuration with(Configuration configuration, String... settings) {
        return resolve("configuration", YAML.valueToTree(configuration), List.of(settings));
    }

    /** As it is written into the run's directory: every value, nothing left to a default. */
    public static String write(Configuration configuration) {
        return YAML.writeValueAsString(configuration);
    }

    /** What stands in a file, unchecked: every value under its whole key, {@code matrices.rate}, as people write it. */
    public static Map<String, String> settings(Configuration configuration) {
        Map<String, String> flat = new LinkedHashMap<>();
        flatten("", YAML.valueToTree(configuration), flat);
        return flat;
    }

    /** The same of a file as it stands there; also that of a version which knew other keys. */
    public static Map<String, String> settings(Path file) {
        try {
            Map<String, String> flat = new LinkedHashMap<>();
            flatten("", keys(file.toString(), YAML.readTree(file)), flat);
            return flat;
        } catch (JacksonException e) {
            throw new Refusal(file + " is not YAML: " + e.getOriginalMessage(), e);
        }
    }

    private static void flatten(String prefix, JsonNode node, Map<String, String> into) {
        node.properties().forEach(entry -> {
            JsonNode value = entry.getValue();
            if (value.isObject()) {
                flatten(prefix + entry.getKey() + ".", value, into);
            } else {
                into.put(prefix + entry.getKey(), value.isDouble() ? plain(value.asDouble()) : value.asString("null"));
            }
        });
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
        ObjectNode all = defaults();
        lay(source, "", all, keys(source, file));
        for (String setting : settings) {
            int equals = setting.indexOf('=');
            if (equals <= 0) {
                throw new Refusal(
                        "--set takes key=value, such as --set matrices.rate=0.02; it was given '" + setting + "'");
            }
            lay(
                    "--set",
                    "",
                    all,
                    nested(
                            setting.substring(0, equals).strip(),
                            setting.substring(equals + 1).strip()));
        }
        fillFromPreset(all);
        refuseNulls("", all);
        try {
            return YAML.treeToValue(all, Configuration.class).check();
        } catch (MismatchedInputException e) {
            String key = String.join(
                    ".",
                    e.getPath().stream().map(r -> snake(r.getPropertyName())).toList());
            throw new Refusal(key + " is " + value(all, key) + "; " + expected(e.getTargetType()) + " is expected", e);
        } catch (JacksonException e) {
            if (e.getCause() instanceof Refusal refusal) {
                throw refusal;
            }
            throw new Refusal(source + ": " + e.getOriginalMessage(), e);
        }
    }

    private static JsonNode keys(String source, JsonNode file) {
        if (!file.isObject() && !file.isNull() && !file.isMissingNode()) {
            throw new Refusal(source + " holds no keys; see docs/CONFIGURATION.md");
        }
        return file;
    }

    private static ObjectNode defaults() {
        try (InputStream in = ConfigurationFile.class.getResourceAsStream("defaults.yaml")) {
            return (ObjectNode) YAML.readTree(in);
        } catch (IOException e) {
            throw new IllegalStateException("defaults.yaml is not in the jar", e);
        }
    }

    /** Lays one tree over another that has every key there is. */
    private static void lay(String source, String prefix, ObjectNode under, JsonNode over) {
        for (Map.Entry<String, JsonNode> field : over.properties()) {
            String key = prefix + field.getKey();
            if (!under.has(field.getKey())) {
                throw new Refusal(source + ": unknown key '" + key + "'; the nearest is '" + nearest(key) + "'");
            }
            JsonNode below = under.get(field.getKey());
            if (below instanceof ObjectNode inner) {
                if (!field.getValue().isObject()) {
                    throw new Refusal(source + ": '" + key + "' is a group of keys, such as '" + key + "."
                            + inner.propertyNames().iterator().next() + "'; it was given " + field.getValue());
                }
                lay(source, key + ".", inner, field.getValue());
            } else {
                under.set(field.getKey(), field.getValue());
            }
        }
    }

    private static boolean quoted(String value) {
        return value.length() > 1
                && (value.startsWith("\"") && value.endsWith("\"") || value.startsWith("'") && value.endsWith("'"));
    }

    private static JsonNode nested(String key, String value) {
        try {
            // A path may hold what means something to YAML, such as " #" or ": ".
            JsonNode node = PATHS.contains(key) && !value.isEmpty() && !value.equals("null") && !quoted(value)
                    ? YAML.getNodeFactory().stringNode(value)
                    : YAML.readTree(value.isEmpty() ? "null" : value);
            String[] parts = key.split("\\.", -1);
            for (int i = parts.length - 1; i >= 0; i--) {
                node = YAML.createObjectNode().set(parts[i], node);
            }
            return node;
        } catch (JacksonException e) {
            throw new Refusal("--set " + key + "=" + value + ": the value is not YAML: " + e.getOriginalMessage(), e);
        }
    }

    private static void fillFromPreset(ObjectNode all) {
        Preset preset = Preset.parse(all.get("preset").asString());
        Architecture a = preset.architecture(Variant.M1);
        ObjectNode model = (ObjectNode) all.get("model"), matrices = (ObjectNode) all.get("matrices");
        fill(model, "vocab", a.vocab());
        fill(model, "layers", a.layers());
        fill(model, "width", a.width());
        fill(model, "head", a.head());
        fill(model, "sequence", a.sequence());
        fill(model, "batch", preset.batch());
        fill(all, "steps", preset.steps());
        boolean paper = preset.stepTokens() > preset.batch() * a.sequence();
        if (model.get("accumulation").isNull()) {
            model.put("accumulation", paper ? accumulation(preset, model) : 1);
        }
        if (matrices.get("shape_factor").isNull()) {
            matrices.put("shape_factor", paper ? "rms" : "none");
        }
    }

    private static void fill(ObjectNode group, String key, int value) {
        if (group.get(key).isNull()) {
            group.put(key, value);
        }
    }

    /** The micro-batches that make the paper's tokens per step. */
    private static int accumulation(Preset preset, ObjectNode model) {
        long micro = model.get("batch").asLong(0) * model.get("sequence").asLong(0);
        if (micro <= 0 || preset.stepTokens() % micro != 0) {
            throw new Refusal("preset " + preset.label() + " takes " + preset.stepTokens()
                    + " tokens per step, which are no whole number of micro-batches of " + micro
                    + "; set model.accumulation, or another model.batch");
        }
        return (int) (preset.stepTokens() / micro);
    }

    /** What is left open must be named here: everything else has a value. */
    private static void refuseNulls(String prefix, ObjectNode node) {
        for (Map.Entry<String, JsonNode> field : node.properties()) {
            String key = prefix + field.getKey();
            if (field.getValue() instanceof ObjectNode inner) {
                refuseNulls(key + ".", inner);
            } else if (field.getValue().isNull() && !OPEN.contains(key)) {
                throw new Refusal(key + " has no value; give it one, or leave the key out");
            }
        }
    }

    private static String expected(Class<?> type) {
        return type.isEnum()
                ? "one of " + Arrays.toString(type.getEnumConstants())
                : Map.of(int.class, "a whole number", long.class, "a whole number", double.class, "a number")
                        .getOrDefault(type, type == boolean.class ? "true or false" : "a text");
    }

    private static JsonNode value(ObjectNode all, String key) {
        return all.at("/" + key.replace('.', '/'));
    }

    private static String snake(String name) {
        return name.replaceAll("([A-Z])", "_$1").toLowerCase(Locale.ROOT);
    }

    private static String nearest(String key) {
        TreeSet<String> keys = new TreeSet<>();
        collect("", defaults(), keys);
        return keys.stream()
                .min(Comparator.<String>comparingInt(known -> distance(known, key))
                        .thenComparingInt(known -> edits(known, key)))
                .orElseThrow();
    }

    private static void collect(String prefix, ObjectNode node, TreeSet<String> keys) {
        node.properties().forEach(field -> {
            keys.add(prefix + field.getKey());
            if (field.getValue() instanceof ObjectNode inner) {
                collect(prefix + field.getKey() + ".", inner, keys);
            }
        });
    }

    /** Levenshtein's, with the last part of the key alone counted too, so that 'rate' finds 'matrices.rate'. */
    private static int distance(String known, String key) {
        String last = known.substring(known.lastIndexOf('.') + 1), own = key.substring(key.lastIndexOf('.') + 1);
        return Math.min(edits(known, key), 1 + edits(last, own));
    }

    private static int edits(String a, String b) {
        int[] row = new int[b.length() + 1];
        Arrays.setAll(row, j -> j);
        for (int i = 1; i <= a.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                int change = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(change, 1 + Math.min(row[j], row[j - 1]));
            }
        }
        return row[b.length()];
    }
}
