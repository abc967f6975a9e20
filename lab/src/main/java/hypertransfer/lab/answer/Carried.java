package hypertransfer.lab.answer;

import hypertransfer.core.Refusal;
import hypertransfer.core.Space;
import hypertransfer.prediction.Prediction;
import hypertransfer.prediction.Translation;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.Course;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;

/**
 * Tuned rates carried to other settings, for the matrices that both configurations treat alike.
 *
 * @param common whether these are the matrices of no group
 * @param kinds what is known of each kind of matrix
 * @param pair the rates that serve all of them
 */
public record Carried(boolean common, List<Part> kinds, Translation.Pair pair) {

    /**
     * Matrices of one kind.
     *
     * @param name of the kind, with its layers where they are not all alike
     * @param from the kind in the tuned run
     * @param to the same matrices in the other run
     * @param matrices their names
     */
    public record Part(String name, Kind from, Kind to, List<String> matrices) {
        /** Both sides for the algebra. */
        Translation.Matrix matrix() {
            return new Translation.Matrix(from.expected(), to.expected(), matrices.size());
        }

        /** The rates that serve this kind best. */
        public Translation.Pair own() {
            return Carried.pair(List.of(this));
        }

        /** A rate for each step instead of a pair. */
        public Prediction induced() {
            Course tuned = from.course();
            return Translation.induced(matrix(), target(tuned), tuned.schedule(), target(to.course()));
        }
    }

    /** One entry for each set of matrices that are treated alike on both sides: one where there are no groups. */
    public static List<Carried> of(Configuration from, Configuration to) {
        if (from.steps() != to.steps()) {
            throw new Refusal("steps is " + from.steps() + " in the tuned run and " + to.steps()
                    + " in the other; rates are carried over between runs of one length");
        }
        List<Kind> others = Kind.of(to);
        Map<List<Course>, List<Part>> alike = new LinkedHashMap<>();
        for (Kind kind : Kind.of(from)) {
            List<Kind> met = others.stream()
                    .filter(other -> kind.matrices().stream().anyMatch(other::has))
                    .toList();
            for (Kind other : met) {
                List<String> shared =
                        kind.matrices().stream().filter(other::has).toList();
                alike.computeIfAbsent(List.of(kind.course(), other.course()), courses -> new ArrayList<>())
                        .add(new Part(met.size() == 1 ? kind.name() : kind.name(shared), kind, other, shared));
            }
        }
        List<Carried> all = new ArrayList<>();
        alike.forEach((courses, parts) ->
                all.add(new Carried(courses.getFirst().equals(from.algorithm().common()), parts, pair(parts))));
        return all;
    }

    private static Translation.Pair pair(List<Part> parts) {
        Course tuned = parts.getFirst().from.course(),
                other = parts.getFirst().to.course();
        if (tuned.schedule().peak() == 0) { // frozen matrices stay so
            return new Translation.Pair(tuned.schedule(), 0);
        }
        List<Translation.Matrix> matrices = parts.stream().map(Part::matrix).toList();
        return Translation.pair(matrices, target(tuned), tuned.schedule(), target(other), other.schedule());
    }

    private static Space target(Course course) {
        return course.transfer().target();
    }

    /** The settings that give these matrices their rates. */
    public List<String> settings() {
        String key = common ? "matrices." : "matrices.groups." + pattern() + ".";
        return List.of(
                String.format(Locale.ROOT, "%srate=%.4g", key, pair.schedule().peak()),
                String.format(
                        Locale.ROOT, "%sfinal_ratio=%.4f", key, pair.schedule().finalRatio()));
    }

    /** The matrices as a pattern of {@code matrices.groups}: kinds where they are whole, else names. */
    public String pattern() {
        TreeSet<String> patterns = new TreeSet<>();
        kinds.forEach(part -> patterns.addAll(part.name.contains(" ") ? part.matrices : List.of(part.name)));
        return String.join("|", patterns);
    }
}
