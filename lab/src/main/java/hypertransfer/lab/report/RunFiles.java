package hypertransfer.lab.report;

import static hypertransfer.train.run.RunDirectory.CONFIGURATION;
import static hypertransfer.train.run.RunDirectory.MATRICES;
import static hypertransfer.train.run.RunDirectory.METRICS;
import static hypertransfer.train.run.RunDirectory.PROVENANCE;
import static hypertransfer.train.run.RunDirectory.STATE;

import hypertransfer.core.Refusal;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.ObjectMapper;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.dataformat.yaml.YAMLMapper;

/**
 * What a run's directory says of itself, apart from its curves.
 *
 * @param config the resolved configuration, flat: {@code matrices.rate} is the key {@code rate} inside {@code matrices}
 * @param provenance the entries of {@code provenance.json} that are one value
 * @param matrices the names of the hidden matrices, in the order of all arrays
 */
record RunFiles(Path directory, Map<String, String> config, Map<String, String> provenance, List<String> matrices) {
    private static final Set<String> STATES = Set.of("running", "interrupted", "failed", "finished");
    private static final List<String> SIZES = List.of("vocab", "layers", "width", "head");
    private static final YAMLMapper YAML = YAMLMapper.shared();
    private static final JsonMapper JSON = JsonMapper.shared();

    /** Where a run stands. A run that has not written {@code state.json} yet is running. */
    record State(String state, Integer step, Integer steps, String message) {}

    static boolean isRun(Path directory) {
        return Files.isRegularFile(directory.resolve(CONFIGURATION));
    }

    static RunFiles read(Path directory) {
        if (!Files.isDirectory(directory)) {
            throw new Refusal(
                    "there is no directory " + directory + "; give a run's directory, as 'ht train' wrote it");
        }
        if (!isRun(directory)) {
            throw new Refusal(
                    directory + " is not a run, it has no config.yaml; give a directory that 'ht train' wrote");
        }
        Map<String, String> config = new LinkedHashMap<>();
        flatten("", tree(YAML, directory.resolve(CONFIGURATION)), config);
        JsonNode provenance = tree(JSON, directory.resolve(PROVENANCE));
        Map<String, String> origin = new LinkedHashMap<>();
        List<String> matrices = new ArrayList<>();
        for (var entry : provenance.properties()) {
            if (entry.getKey().equals("matrices")) {
                entry.getValue().forEach(name -> matrices.add(name.asString()));
            } else {
                flatten(entry.getKey(), entry.getValue(), origin);
            }
        }
        return new RunFiles(directory, config, origin, List.copyOf(matrices));
    }

    State state() {
        Path file = directory.resolve(STATE);
        if (!Files.exists(file)) {
            return new State("running", null, null, null);
        }
        JsonNode node = tree(JSON, file);
        String state = node.path("state").asString("");
        if (!STATES.contains(state)) {
            throw new Refusal(file + " has state " + node.path("state") + "; expected one of " + STATES);
        }
        return new State(
                state,
                node.path("step").isInt() ? (Integer) node.path("step").intValue() : null,
                node.path("steps").isInt() ? (Integer) node.path("steps").intValue() : null,
                node.path("message").asString(null));
    }

    /** Changes whenever a file of the run does. */
    static String stamp(Path directory) {
        return Stream.of(CONFIGURATION, PROVENANCE, STATE, METRICS, MATRICES)
                .map(name -> directory.resolve(name).toFile())
                .map(file -> file.length() + "@" + file.lastModified())
                .collect(Collectors.joining(" "));
    }

    /** A setting by its flat key; empty where it is not set. */
    Optional<String> setting(String key) {
        return Optional.ofNullable(config.get(key)).filter(value -> !value.isEmpty() && !value.equals("null"));
    }

    /** The network, as people say it: {@code M1 demo}. */
    String network() {
        return setting("network").orElse("?") + " " + setting("preset").orElse("");
    }

    /** Two runs can be laid over each other where this and the matrices are equal. */
    String shape() {
        return setting("network").orElse("?") + " with "
                + SIZES.stream()
                        .map(size -> size + " " + setting("model." + size).orElse("?"))
                        .collect(Collectors.joining(", "));
    }

    private static JsonNode tree(ObjectMapper mapper, Path file) {
        try {
            JsonNode node = mapper.readTree(Files.readAllBytes(file));
            if (!node.isObject()) {
                throw new Refusal(file + " does not hold keys and values; the run is damaged, leave it out");
            }
            return node;
        } catch (JacksonException e) {
            int line = e.getLocation() == null ? 1 : Math.max(1, e.getLocation().getLineNr());
            throw new Refusal(
                    file + ", line " + line + " cannot be read ("
                            + e.getOriginalMessage().replaceAll("\\s+", " ") + "); repair it, or leave"
                            + " this run out",
                    e);
        } catch (NoSuchFileException e) {
            throw new Refusal(file + " is missing; the run is incomplete, leave it out", e);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void flatten(String key, JsonNode node, Map<String, String> into) {
        if (node.isObject() && !node.isEmpty()) {
            node.properties()
                    .forEach(e -> flatten(key.isEmpty() ? e.getKey() : key + "." + e.getKey(), e.getValue(), into));
        } else {
            into.put(key, node.isString() ? node.stringValue() : node.isDouble() ? plain(node) : node.toString());
        }
    }

    /** As people write it: 0.0005, not 5.0E-4. */
    private static String plain(JsonNode number) {
        BigDecimal value = new BigDecimal(number.toString()).stripTrailingZeros();
        return value.scale() > 9 ? value.toString().toLowerCase(Locale.ROOT) : value.toPlainString();
    }
}
