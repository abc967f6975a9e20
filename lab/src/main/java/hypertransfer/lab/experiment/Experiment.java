package hypertransfer.lab.experiment;

import hypertransfer.core.Refusal;
import hypertransfer.train.network.Preset;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.PropertyNamingStrategies;
import tools.jackson.dataformat.yaml.YAMLMapper;

/**
 * Several runs that belong together, as a file of {@code runs/} describes them. All settings are {@code key=value}s of a
 * configuration; later ones win: the preset, the experiment's, the preset's, the run's, the preset's for the run.
 */
public record Experiment(String title, List<String> settings, Map<String, Member> runs, Map<String, Tuned> presets) {
    /** The experiments that come with the project, and what each is about. */
    public static final Map<String, String> KNOWN = known(
            "exp1", "M1, schedule to zero, both directions",
            "exp2-zero", "M2, the plus forms, schedule to zero",
            "exp2-tenth", "M2, the plus forms, schedule to a tenth",
            "exp3", "final-to-peak effective ratios, and MuonH at the matched one",
            "adamw", "AdamW and AdamH on M1",
            "dense", "500 million parameters",
            "fair", "two base optimizers at one effective schedule",
            "decay", "one curve at three weight decays",
            "decoupled", "the proxy norm on schedules of its own (beyond the paper)",
            "demo", "what 'ht demo' trains",
            "demo-quick", "what 'ht demo --quick' trains");

    /**
     * One run.
     *
     * @param follows the run whose configuration and curves it takes as its target
     * @param ratioOf the run whose mean final-to-peak effective ratio becomes its final ratio
     */
    public record Member(String follows, String ratioOf, List<String> settings) {
        public Member {
            settings = settings == null ? List.of() : settings;
        }
    }

    /** What is tuned for one preset: settings for all runs, and for single ones. */
    record Tuned(List<String> settings, Map<String, List<String>> runs) {
        public Tuned {
            settings = settings == null ? List.of() : settings;
            runs = runs == null ? Map.of() : runs;
        }
    }

    private static final YAMLMapper YAML = YAMLMapper.builder()
            .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
            .build();

    private static Map<String, String> known(String... pairs) {
        Map<String, String> known = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            known.put(pairs[i], pairs[i + 1]);
        }
        return Collections.unmodifiableMap(known);
    }

    /** An experiment by the name it has here, or a file. */
    public static Experiment read(String name) {
        Path file = Path.of(name);
        try (InputStream in = KNOWN.containsKey(name)
                ? Experiment.class.getResourceAsStream("runs/" + name + ".yaml")
                : Files.isRegularFile(file) ? Files.newInputStream(file) : null) {
            if (in == null) {
                throw new Refusal("unknown experiment '" + name + "'; there are " + String.join(", ", KNOWN.keySet())
                        + ", or give a file like those in runs/");
            }
            return YAML.readValue(in, Experiment.class).check(name);
        } catch (JacksonException e) {
            throw new Refusal(name + " is not an experiment: " + e.getOriginalMessage(), e);
        } catch (IOException e) {
            throw new Refusal("cannot read " + name + ": " + e.getMessage(), e);
        }
    }

    private Experiment check(String name) {
        if (title == null || settings == null || runs == null || runs.isEmpty() || presets == null) {
            throw new Refusal(name + " is not an experiment: it needs title, settings, runs and presets");
        }
        List<String> order = List.copyOf(runs.keySet());
        runs.forEach((run, member) -> {
            for (String other : new String[] {member.follows, member.ratioOf}) {
                if (other != null && !order.subList(0, order.indexOf(run)).contains(other)) {
                    throw new Refusal(name + ": run " + run + " needs run " + other + ", which must stand above it");
                }
            }
        });
        return this;
    }

    /** What is tuned for a preset; nothing where none of its runs is. */
    Tuned tuned(Preset preset) {
        return presets.getOrDefault(preset.label(), new Tuned(List.of(), Map.of()));
    }
}
