package hypertransfer.train.config;

import hypertransfer.core.Refusal;
import hypertransfer.train.network.Outline;
import java.util.Arrays;
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
final class Groups {
    /** Keys that hold for all hidden matrices together. */
    private static final Set<String> COMMON =
            Set.of("groups", "recorded", "proxy_growth", "proxy_power", "master", "grid", "placebo");

    static final String KEY = "matrices.groups";

    private final Matrices base;
    private final Map<String, Predicate<Outline>> patterns = new LinkedHashMap<>();

    Groups(Matrices base) {
        this.base = base;
        base.groups().keySet().forEach(text -> patterns.put(text, matching(text)));
    }

    /** Refuses patterns that no hidden matrix has, and keys that a group cannot have. */
    void check(List<Outline> hidden) {
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
                    throw new Refusal(KEY + "." + text + " has the unknown key '" + key + "'; the nearest is '"
                            + Nearest.key(key, known) + "'");
                }
            }
            betas(text);
        });
    }

    /** Lion's betas are of other things than those of all others, so that it takes over none that was chosen for them. */
    private void betas(String text) {
        Map<String, Object> group = base.groups().get(text);
        Update.Kind all = base.update().direction(),
                own = over(List.of(text)).update().direction();
        Update.Moments m = base.update().moments();
        double usual = all == Update.Kind.LION ? 0.99 : 0.95;
        boolean differ = (all == Update.Kind.LION) != (own == Update.Kind.LION)
                && !all.betas().isEmpty()
                && !own.betas().isEmpty();
        if (differ && m.beta2() != usual && !group.containsKey("beta2")) {
            throw new Refusal("matrices.beta2 is " + m.beta2() + ", and " + KEY + "." + text + " has the direction "
                    + Words.label(own) + ", whose betas are of " + own.betas() + "; those of " + Words.label(all)
                    + " are of " + all.betas() + ": set " + KEY + "." + text + ".beta2");
        }
    }

    /** The patterns that a hidden matrix matches. */
    List<String> of(Outline matrix) {
        return patterns.keySet().stream()
                .filter(text -> patterns.get(text).test(matrix))
                .toList();
    }

    /** The settings of the matrices that match just these. */
    Matrices over(List<String> matched) {
        Map<String, Object> settings = new LinkedHashMap<>();
        matched.forEach(text -> settings.putAll(base.groups().get(text)));
        return matched.isEmpty() ? base : ConfigurationFile.over(key(matched), base, settings);
    }

    /** How messages name them. */
    static String key(List<String> matched) {
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
