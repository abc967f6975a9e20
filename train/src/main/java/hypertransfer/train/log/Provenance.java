package hypertransfer.train.log;

import hypertransfer.core.GradientRule;
import hypertransfer.core.Refusal;
import hypertransfer.train.file.Atomic;
import hypertransfer.train.file.Strict;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * Who ran this, on what, and which matrices the arrays are over.
 *
 * @param facts what is one value: version, machine, engine and the like
 * @param matrices the names of the hidden matrices, in the order of all arrays
 * @param gradient the rule of each, by {@link GradientRule}'s name
 */
public record Provenance(Map<String, String> facts, List<String> matrices, List<String> gradient) {
    public Provenance(Map<String, String> facts, Map<String, GradientRule> rules) {
        this(
                facts,
                List.copyOf(rules.keySet()),
                rules.values().stream().map(GradientRule::name).toList());
    }

    static Provenance read(Path file) {
        if (!Files.exists(file)) {
            throw new Refusal(file + " is missing, so the names of the matrices are not known; the run is incomplete,"
                    + " leave it out");
        }
        Atomic.requireRegular(file);
        try {
            JsonNode node = JsonMapper.shared().readTree(file);
            Map<String, String> facts = new LinkedHashMap<>();
            node.properties().forEach(entry -> {
                if (!entry.getValue().isContainer()) {
                    facts.put(entry.getKey(), entry.getValue().asString());
                }
            });
            return new Provenance(facts, texts(file, node, "matrices"), texts(file, node, "gradient"));
        } catch (JacksonException e) {
            throw new Refusal(file + " is damaged (" + Strict.reason(e) + "); leave the run out", e);
        }
    }

    private static List<String> texts(Path file, JsonNode node, String key) {
        return node.path(key)
                .valueStream()
                .map(text -> text.stringValueOpt()
                        .orElseThrow(() -> new Refusal(
                                file + " has " + text + " in '" + key + "', not a name; leave the run out")))
                .toList();
    }

    void write(Path file) {
        ObjectNode node = JsonMapper.shared().createObjectNode();
        facts.forEach((key, value) -> {
            if (key.startsWith("parameters")) {
                node.put(key, Long.parseLong(value));
            } else {
                node.put(key, value);
            }
        });
        matrices.forEach(node.putArray("matrices")::add);
        gradient.forEach(node.putArray("gradient")::add);
        Atomic.write(file, node.toString());
    }

    /** The gradient rule that each hidden matrix was trained with. */
    public Map<String, GradientRule> rules() {
        if (gradient.size() != matrices.size()) {
            throw new Refusal("provenance.json names " + matrices.size() + " matrices and " + gradient.size()
                    + " gradient rules; it is damaged");
        }
        Map<String, GradientRule> rules = new LinkedHashMap<>();
        for (int k = 0; k < matrices.size(); k++) {
            try {
                rules.put(matrices.get(k), GradientRule.valueOf(gradient.get(k)));
            } catch (IllegalArgumentException e) {
                throw new Refusal("provenance.json names an unknown gradient rule '" + gradient.get(k) + "'", e);
            }
        }
        return rules;
    }
}
