package hypertransfer.train.config;

import hypertransfer.core.Refusal;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Outline;
import hypertransfer.train.optimizer.Directions;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Hidden matrices with settings of their own, {@code matrices.groups}: name patterns, each with keys of {@code matrices}. All
 * patterns that a name matches are laid over each other in their order, so a later one wins.
 *
 * <p>A pattern is a kind ({@code fc}) or a name in which {@code *} stands for any text ({@code blocks.0.*}); {@code |} stands
 * between alternatives ({@code q|k}).
 */
record Groups(Matrices base, Map<String, Predicate<Outline>> patterns) {
    /** Keys that hold for all hidden matrices together. */
    private static final Set<String> COMMON = Set.of("groups", "recorded", "proxy_growth", "master", "grid", "placebo");

    static final String KEY = "matrices.groups";

    /** What each hidden matrix gets, by its name; refuses what cannot be trained. */
    static Map<String, Matrices> resolve(Configuration c) {
        Architecture network = c.architecture();
        List<Outline> hidden = network.hidden();
        Groups groups = new Groups(c.matrices().check("matrices"), new LinkedHashMap<>());
        c.matrices().groups().keySet().forEach(text -> groups.patterns.put(text, matching(text)));
        groups.check(hidden);
        Map<List<String>, Matrices> known = new HashMap<>(Map.of(List.of(), c.matrices()));
        Map<String, Matrices> all = new LinkedHashMap<>();
        for (Outline matrix : hidden) {
            Matrices own = known.computeIfAbsent(
                    groups.of(matrix), matched -> groups.over(matched).check(key(matched)));
            own.view().of(matrix, c.model().head());
            own.requireInvariance(network, matrix);
            all.put(matrix.name(), own);
        }
        return all;
    }

    /** Refuses patterns that no hidden matrix has, and keys that a group cannot have. */
    private void check(List<Outline> hidden) {
        patterns.forEach((text, pattern) -> {
            if (hidden.stream().noneMatch(pattern)) {
                throw new Refusal(KEY + "." + text + " matches none of the hidden matrices; their names are "
                        + hidden.getFirst().name() + " to " + hidden.getLast().name() + ", their kinds "
                        + kinds(hidden));
            }
            TreeSet<String> known = new TreeSet<>(ConfigurationFile.keys(base));
            known.removeAll(COMMON);
            for (String key : base.groups().get(text).keySet()) {
                if (COMMON.contains(key)) {
                    throw new Refusal(KEY + "." + text + "." + key + " cannot differ between groups; set matrices."
                            + key + ", which holds for all hidden matrices");
                }
                if (!known.contains(key)) {
                    throw new Refusal(
                            KEY + "." + text + " has the unknown key '" + key + "'; " + Nearest.key(key, known));
                }
            }
            betas(text);
        });
    }

    /** Lion's beta2 means something else, so a group that changes to or from Lion must set it where the common one is set. */
    private void betas(String text) {
        Directions all = base.direction(), own = over(List.of(text)).direction();
        Object usual = all.value("beta2", false);
        if (all.reads("beta2")
                && own.reads("beta2")
                && !usual.equals(own.value("beta2", false))
                && !usual.equals(base.settings().beta2())
                && !base.groups().get(text).containsKey("beta2")) {
            throw new Refusal("matrices.beta2 is " + base.settings().beta2() + ", for " + all.label() + ", and " + KEY
                    + "." + text + " has the direction " + own.label()
                    + ", which uses beta2 for something else: set " + KEY + "." + text + ".beta2");
        }
    }

    /** The patterns that a hidden matrix matches. */
    private List<String> of(Outline matrix) {
        return patterns.keySet().stream()
                .filter(text -> patterns.get(text).test(matrix))
                .toList();
    }

    /** The settings of the matrices that match just these. */
    private Matrices over(List<String> matched) {
        Map<String, Object> settings = new LinkedHashMap<>();
        matched.forEach(text -> settings.putAll(base.groups().get(text)));
        return matched.isEmpty() ? base : ConfigurationFile.over(key(matched), base, settings);
    }

    /** How messages name them. */
    private static String key(List<String> matched) {
        return matched.isEmpty() ? "matrices" : KEY + "." + String.join(" and ", matched);
    }

    /** {@code q, k, v, o, fc and proj}. */
    private static String kinds(List<Outline> hidden) {
        List<String> kinds =
                hidden.stream().map(matrix -> matrix.kind().label()).distinct().toList();
        return String.join(", ", kinds.subList(0, kinds.size() - 1)) + " and " + kinds.getLast();
    }

    private static Predicate<Outline> matching(String text) {
        return Arrays.stream(text.split("\\|", -1))
                .map(String::strip)
                .map(Groups::one)
                .reduce(matrix -> false, Predicate::or);
    }

    private static Predicate<Outline> one(String text) {
        if (!text.contains(".") && !text.contains("*")) {
            return matrix -> matrix.kind().label().equals(text);
        }
        Predicate<String> name = Pattern.compile(
                        Arrays.stream(text.split("\\*", -1)).map(Pattern::quote).collect(Collectors.joining(".*")))
                .asMatchPredicate();
        return matrix -> name.test(matrix.name());
    }
}
