package hypertransfer.train.run;

import com.fasterxml.jackson.annotation.JsonInclude;
import hypertransfer.core.GradientRule;
import hypertransfer.core.Refusal;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;

/**
 * What a checkpoint was trained with. A run continues only with the same, unless the user names what is to differ.
 *
 * @param rules the gradient rule of each hidden matrix
 * @param settings what of the configuration decides the training, by whole keys
 * @param training the training data, {@link hypertransfer.train.data.Corpus#fingerprint}
 * @param validation the validation data
 * @param recorded the CRC-32C of the recorded schedule; null where there is none, or an older version trained
 * @param machine what the engine's bits depend on; null where an older version trained
 */
public record Origin(
        Map<String, GradientRule> rules,
        Map<String, String> settings,
        List<String> training,
        List<String> validation,
        @JsonInclude(JsonInclude.Include.NON_NULL) String recorded,
        @JsonInclude(JsonInclude.Include.NON_NULL) String machine) {
    public Origin {
        Stream.of(rules, settings, training, validation).forEach(Objects::requireNonNull);
    }

    /** Groups of keys and keys that do not change what is trained; where the data lies is told by its fingerprint. */
    private static final Set<String> FREE = Set.of(
            "preset",
            "checkpoint",
            "log",
            "ranks",
            "validation",
            "stop_above",
            "target",
            "from",
            "data.train",
            "data.validation");

    private static final String GROUPS = "matrices.groups.";

    static Origin of(Configuration c, Session session, Feed feed) {
        String recorded = c.matrices().recorded();
        return new Origin(
                session.rules(),
                settings(c),
                feed.batches().corpus().fingerprint(),
                feed.held().corpus().fingerprint(),
                recorded == null ? null : RecordedRates.fingerprint(Path.of(recorded)),
                session.engine().provenance());
    }

    private static Map<String, String> settings(Configuration c) {
        Map<String, String> settings = ConfigurationFile.settings(c);
        settings.keySet().removeIf(key -> FREE.contains(key) || FREE.contains(key.replaceFirst("\\..*", "")));
        return settings;
    }

    /**
     * Refuses to continue with something else.
     *
     * @param allowed the keys that the user has changed on purpose
     */
    void require(Origin now, Set<String> allowed) {
        refuse(all(now, allowed));
    }

    private List<String> all(Origin now, Set<String> allowed) {
        List<String> differences = new ArrayList<>(differences(now.settings, allowed));
        if (!training.equals(now.training) && !allowed.contains("data.train")) {
            differences.add("data.train: " + difference(training, now.training));
        }
        if (!validation.equals(now.validation) && !allowed.contains("data.validation")) {
            differences.add("data.validation: " + difference(validation, now.validation));
        }
        if (recorded != null && !recorded.equals(now.recorded) && !allowed.contains("matrices.recorded")) {
            differences.add("matrices.recorded: the file's checksum was " + recorded + ", is " + now.recorded);
        }
        if (!sameMachine(now) && !allowed.contains("engine")) {
            differences.add("the machine: it had " + machine + ", this one has " + now.machine
                    + ", so the bits would differ (--set engine=" + now.settings.get("engine") + " allows it)");
        }
        if (!rules.equals(now.rules) && !allowed.contains("matrices.gradient")) {
            differences.add("matrices.gradient: the rules of some matrices are others");
        }
        return differences;
    }

    /** What is trained otherwise from here on; refused where no step is left: it would stand for what was trained before. */
    String changes(Origin now, int step, int steps) {
        String changes = String.join("; ", all(now, Set.of()));
        if (step >= steps && !changes.isEmpty()) {
            throw new Refusal("the run is at step " + step + " of " + steps + ", so no step is left to train with other"
                    + " settings (" + changes + "); set more steps too, or train a new run with another --out");
        }
        return changes;
    }

    /** Whether the bits can be the same there; the version before noted the vectors only, and those before nothing. */
    boolean sameMachine(Origin other) {
        return machine == null || other.machine.equals(machine) || other.machine.startsWith(machine + ",");
    }

    /** The same where only the configuration is at hand. */
    void require(Configuration now) {
        refuse(differences(settings(now), Set.of()));
    }

    private static void refuse(List<String> differences) {
        if (!differences.isEmpty()) {
            throw new Refusal("the checkpoint was trained with something else: " + String.join("; ", differences)
                    + "; undo this, or name what you want to change: ht train RUN --set KEY=VALUE");
        }
    }

    private List<String> differences(Map<String, String> now, Set<String> allowed) {
        Stream<String> added =
                now.keySet().stream().filter(key -> key.startsWith(GROUPS) && !settings.containsKey(key));
        return Stream.concat(settings.keySet().stream(), added) // another key newer than the checkpoint has its default
                .filter(key -> !Objects.equals(settings.get(key), now.get(key)))
                .filter(key -> !allowed.contains(key) && !ConfigurationFile.gone(key))
                .map(key -> key + " was " + settings.get(key) + ", is " + now.get(key))
                .toList();
    }

    private static String difference(List<String> before, List<String> now) {
        for (int i = 0; i < Math.min(before.size(), now.size()); i++) {
            if (!before.get(i).equals(now.get(i))) {
                return "was (" + before.get(i) + "), is (" + now.get(i) + ")";
            }
        }
        return "was " + before.size() + " files, is " + now.size();
    }
}
