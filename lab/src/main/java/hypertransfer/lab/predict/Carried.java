package hypertransfer.lab.predict;

import hypertransfer.core.Refusal;
import hypertransfer.core.Schedule.Shaped;
import hypertransfer.prediction.Translation;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.Matrices;
import hypertransfer.train.network.Outline;
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
record Carried(boolean common, List<Part> kinds, Translation.Pair pair) {

    /**
     * Matrices of one kind.
     *
     * @param whole whether they are all of their kind
     * @param from the kind in the tuned run
     * @param to the same matrices in the other run
     */
    record Part(boolean whole, PredictedKind from, PredictedKind to, List<Outline> matrices) {
        /** Both sides for the algebra. */
        Translation.Matrix matrix() {
            return new Translation.Matrix(from.expected(), to.expected(), matrices.size());
        }

        /** The kind, with its layers where they are not all alike. */
        String name() {
            return PredictedKind.name(matrices, whole);
        }

        /** The rates that serve this kind best. */
        Translation.Pair own() {
            return pair(List.of(this));
        }
    }

    /** One entry for each set of matrices that are treated alike on both sides: one where there are no groups. */
    static List<Carried> of(Configuration from, Configuration to) {
        if (from.steps() != to.steps()) {
            throw new Refusal("steps is " + from.steps() + " in the tuned run and " + to.steps()
                    + " in the other; rates are carried over between runs of one length");
        }
        List<PredictedKind> tuned = PredictedKind.of(from), others = PredictedKind.of(to);
        Map<List<Matrices>, List<Part>> alike = new LinkedHashMap<>();
        for (PredictedKind kind : tuned) {
            for (PredictedKind other : others) {
                List<Outline> shared =
                        kind.matrices().stream().filter(m -> has(other, m)).toList();
                if (!shared.isEmpty()) {
                    boolean whole = shared.size() == from.model().layers();
                    alike.computeIfAbsent(List.of(kind.settings(), other.settings()), both -> new ArrayList<>())
                            .add(new Part(whole, kind, other, shared));
                }
            }
        }
        List<Carried> all = new ArrayList<>();
        alike.forEach(
                (both, parts) -> all.add(new Carried(both.getFirst().equals(from.matrices()), parts, pair(parts))));
        return all;
    }

    /** By name: another width has another shape. */
    private static boolean has(PredictedKind kind, Outline matrix) {
        return kind.matrices().stream().anyMatch(m -> m.name().equals(matrix.name()));
    }

    private static Translation.Pair pair(List<Part> parts) {
        PredictedKind tuned = parts.getFirst().from, other = parts.getFirst().to;
        if (tuned.schedule().peak() == 0) { // frozen matrices stay so
            return new Translation.Pair(tuned.schedule(), 0);
        }
        return Translation.pair(
                parts.stream().map(Part::matrix).toList(),
                tuned.settings().transfer().target(),
                tuned.schedule(),
                other.settings().transfer().target(),
                other.schedule());
    }

    /** The settings that give these matrices their rates. */
    List<String> settings() {
        String key = common ? "matrices." : "matrices.groups." + pattern() + ".";
        Shaped schedule = pair.schedule();
        return List.of(
                String.format(Locale.ROOT, "%srate=%.4g", key, schedule.peak()),
                String.format(Locale.ROOT, "%sfinal_ratio=%.4f", key, schedule.finalRatio()));
    }

    /** The matrices as a pattern of {@code matrices.groups}: kinds where they are whole, else names. */
    String pattern() {
        TreeSet<String> patterns = new TreeSet<>();
        kinds.forEach(part -> patterns.addAll(
                part.whole
                        ? List.of(part.name())
                        : part.matrices.stream().map(Outline::name).toList()));
        return String.join("|", patterns);
    }
}
