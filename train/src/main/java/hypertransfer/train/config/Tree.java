package hypertransfer.train.config;

import hypertransfer.core.Refusal;
import hypertransfer.train.Word;
import hypertransfer.train.file.Strict;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Preset;
import hypertransfer.train.optimizer.Directions;
import java.io.IOException;
import java.io.InputStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;
import tools.jackson.dataformat.yaml.YAMLMapper;

/** Every key there is with its value: the defaults, and what is laid over them. */
final class Tree {
    static final YAMLMapper YAML =
            Strict.strict(YAMLMapper.builder()).addModule(new Words()).build();
    private static final Set<String> OPEN = Set.of(
            "matrices.recorded",
            "matrices.proxy_growth",
            "adamw.embedding_rate",
            "adamw.head_rate",
            "adamw.gain_rate",
            "from.run",
            "target");

    private static final Set<String> PATHS =
            Set.of("matrices.recorded", "from.run", "target", "data.train", "data.validation");

    /** The last parts of keys that are gone, each with the only value that it may still have: what every run has now. */
    static final Map<String, String> RETIRED = Map.of(
            "gain", "true",
            "schulz_steps", "0",
            "largest_side", "10000",
            "shampoo_beta", "", // that of beta2
            "proxy_power", "1.0",
            "every_late", "0",
            "radial_every", "10");

    /** Keys that have another name now. */
    private static final Map<String, String> RENAMED = Map.of("ranks.carrier", "transport");

    private final ObjectNode all = (ObjectNode) YAML.readTree(defaults());

    /** The keys with their defaults and what they mean, as text. */
    static String defaults() {
        try (InputStream in = Tree.class.getResourceAsStream("defaults.yaml")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new IllegalStateException("defaults.yaml is not in the jar", e);
        }
    }

    /** The tree with nothing left open. */
    ObjectNode complete() {
        fillFromPreset();
        walk("", all, (key, value) -> {
            if (value.isNull() && !OPEN.contains(key)) { // everything else must have a value
                throw valueless(key);
            }
        });
        return all;
    }

    private static Refusal valueless(String key) {
        return new Refusal(key + " has no value; give it one, or leave the key out");
    }

    boolean has(String key) {
        return !at(all, key).isMissingNode();
    }

    /** What stands there under a whole key. */
    static JsonNode at(ObjectNode all, String key) {
        return all.at("/" + key.replace('.', '/'));
    }

    /** Lays a file's keys over what is there. */
    Tree lay(String source, JsonNode over) {
        lay(source, "", all, over);
        return this;
    }

    /** The same with {@code key=value}. */
    void set(String source, String setting) {
        int equals = setting.indexOf('=');
        if (equals <= 0) {
            throw new Refusal(source + " takes key=value, such as " + source + " matrices.rate=0.02; it was given '"
                    + setting + "'");
        }
        String key = setting.substring(0, equals).strip(),
                value = setting.substring(equals + 1).strip();
        if (value.isEmpty() && !OPEN.contains(key) && at(all, key).isValueNode()) {
            throw valueless(key); // the preset must not take its place: the shell may not know a variable
        }
        lay(source, nested(source, key, value));
    }

    private void lay(String source, String prefix, ObjectNode under, JsonNode over) {
        for (Map.Entry<String, JsonNode> field : over.properties()) {
            String key = prefix + field.getKey();
            if (RENAMED.containsKey(key)) {
                under.set(RENAMED.get(key), field.getValue());
                continue;
            }
            if (retired(source, key, field.getValue(), over.path("beta2"), under.path("beta2"))) {
                continue;
            }
            if (!under.has(field.getKey())) {
                TreeSet<String> keys = new TreeSet<>();
                walk("", all, (known, value) -> keys.add(known));
                throw new Refusal(source + ": unknown key '" + key + "'; " + Nearest.key(key, keys));
            }
            JsonNode below = under.get(field.getKey());
            if (key.equals(Groups.KEY)) {
                group(source, under, field.getValue());
            } else if (below instanceof ObjectNode inner
                    && !inner.isEmpty()) { // empty: a file's {} where a value belongs
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

    /** Whether a key is gone; refused where it would change the run. */
    private static boolean retired(String source, String key, JsonNode value, JsonNode beside, JsonNode under) {
        String last = key.substring(key.lastIndexOf('.') + 1);
        if (!RETIRED.containsKey(last)) {
            return false;
        }
        String only = last.equals("shampoo_beta") ? beside.asString(under.asString("0.95")) : RETIRED.get(last);
        if (!value.isNull() && !value.asString("").equals(only)) {
            throw new Refusal(source + ": the key '" + key + "' no longer exists; every run now has what " + only
                    + " stood for, but its value is " + value + ": leave the key out, or use the previous version");
        }
        return true;
    }

    /** Patterns are of the user's choosing; null or {} leaves none. */
    private void group(String source, ObjectNode matrices, JsonNode over) {
        if (over.isNull() || over.isEmpty() && over.isObject()) {
            matrices.putObject("groups");
            return;
        }
        ObjectNode groups = (ObjectNode) matrices.get("groups");
        if (!over.isObject() || over.valueStream().anyMatch(settings -> !settings.isObject())) {
            throw new Refusal(source + ": '" + Groups.KEY + "' holds groups of keys by name pattern, such as '"
                    + Groups.KEY + ".fc.rate'; it was given " + over);
        }
        over.properties().forEach(entry -> {
            ObjectNode own =
                    groups.withObject("/" + entry.getKey().replace("~", "~0").replace("/", "~1"));
            JsonNode beta2 = entry.getValue().path("beta2");
            entry.getValue().properties().forEach(field -> {
                String key = "matrices." + field.getKey();
                if (!retired(source, key, field.getValue(), beta2, matrices.path("beta2"))) {
                    own.set(field.getKey(), field.getValue());
                }
            });
        });
    }

    /** Every key with what stands there, groups of keys too, each before what is in it. */
    static void walk(String prefix, JsonNode node, BiConsumer<String, JsonNode> each) {
        node.properties().forEach(field -> {
            each.accept(prefix + field.getKey(), field.getValue());
            walk(prefix + field.getKey() + ".", field.getValue(), each);
        });
    }

    private JsonNode nested(String source, String key, String value) {
        try {
            // A path may hold what means something to YAML, such as " #" or ": ".
            JsonNode node = PATHS.contains(key) && !value.isEmpty() && !value.equals("null") && !quoted(value)
                    ? YAML.getNodeFactory().stringNode(value)
                    : YAML.readTree(value.isEmpty() ? "null" : whole(value));
            String[] parts = parts(key);
            for (int i = parts.length - 1; i >= 0; i--) {
                node = YAML.createObjectNode().set(parts[i], node);
            }
            return node;
        } catch (JacksonException e) {
            throw new Refusal(source + " " + key + "=" + value + ": the value is not YAML: " + Strict.reason(e), e);
        }
    }

    /** 1e3 is a whole number to people. */
    private static String whole(String value) {
        return value.matches("\\d{1,9}[eE]\\+?\\d") ? new BigDecimal(value).toPlainString() : value;
    }

    /** {@code matrices.groups.blocks.0.*.rate}: a pattern has dots of its own. */
    private static String[] parts(String key) {
        int last = key.lastIndexOf('.');
        return key.startsWith(Groups.KEY + ".") && last > Groups.KEY.length()
                ? new String[] {
                    "matrices", "groups", key.substring(Groups.KEY.length() + 1, last), key.substring(last + 1)
                }
                : key.split("\\.", -1);
    }

    private static boolean quoted(String value) {
        return value.length() > 1
                && (value.startsWith("\"") && value.endsWith("\"") || value.startsWith("'") && value.endsWith("'"));
    }

    private void fillFromPreset() {
        JsonNode name = all.get("preset");
        Preset preset = Preset.parse(name.isValueNode() ? name.asString() : name.toString());
        Architecture a = preset.architecture;
        ObjectNode model = (ObjectNode) all.get("model"), matrices = (ObjectNode) all.get("matrices");
        fill(model, "vocab", a.vocab());
        fill(model, "layers", a.layers());
        fill(model, "width", a.width());
        fill(model, "head", a.headWidth());
        fill(model, "sequence", a.sequence());
        fill(model, "batch", preset.batch);
        fill(all, "steps", preset.steps);
        boolean paper = preset.paper();
        if (model.get("accumulation").isNull()) {
            model.put("accumulation", paper ? accumulation(preset, model) : 1);
        }
        fill(matrices, "bf16", paper);
        fill((ObjectNode) all.get("log"), "matrices_every", paper ? 10 : 1);
        for (JsonNode group : matrices.get("groups")) {
            if (group instanceof ObjectNode own && own.path("direction").isString()) {
                Directions.open().forEach(key -> {
                    if (matrices.get(key).isNull() && !own.has(key)) {
                        own.putNull(key);
                    }
                });
                fillFromDirection(own, paper);
            }
        }
        fillFromDirection(matrices, paper);
    }

    /** What a direction takes where keys are left open, of all matrices or of a group that has a direction of its own. */
    private void fillFromDirection(ObjectNode matrices, boolean paper) {
        Directions direction = Word.find(
                        Directions.class, matrices.get("direction").asString(""))
                .orElse(Directions.MUON); // an unknown one is refused later
        Directions.open().forEach(key -> fill(matrices, key, direction.value(key, paper)));
    }

    private void fill(ObjectNode group, String key, Object value) {
        if (group.path(key).isNull()) {
            group.set(key, YAML.valueToTree(value));
        }
    }

    /** The micro-batches that make the preset's tokens per step. */
    private static int accumulation(Preset preset, ObjectNode model) {
        long micro = model.get("batch").asLong(0) * model.get("sequence").asLong(0);
        if (micro <= 0 || preset.stepTokens % micro != 0) {
            throw new Refusal("preset " + preset.label() + " takes " + preset.stepTokens
                    + " tokens per step, which is not a whole number of micro-batches of " + micro
                    + "; set model.accumulation, or another model.batch");
        }
        return (int) (preset.stepTokens / micro);
    }
}
