package hypertransfer.train.run;

import hypertransfer.core.GradientRule;
import hypertransfer.core.Refusal;
import hypertransfer.engine.Format;
import hypertransfer.engine.Tensor;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.Matrices;
import hypertransfer.train.network.Outline;
import hypertransfer.train.network.Parameter;
import hypertransfer.train.optimizer.Matrix;
import hypertransfer.train.optimizer.View;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * How much the loss depends on the scale of each hidden matrix: {@code |f(cw) - f(w)| / f(w)}, the largest over a few
 * factors c. Where it is rounding only, the rescaled gradient is exact; elsewhere only the representative's is.
 *
 * @param rules for every matrix the rule that is exact for it; with exact masters the one that also keeps a target's bits
 */
public record Invariance(double loss, Map<String, Double> change, double rounding, Map<String, GradientRule> rules) {
    private static final double[] FACTORS = {0.25, 0.5, 2, 4};
    /** Roundings of a whole forward pass, and the norm's epsilon beside the smallest scaled activations. */
    private static final double ROUNDINGS = 100;

    /** Measures at the network's start. */
    public static Invariance measure(Configuration c) {
        try (Session session = Session.separate(c);
                Feed feed = Feed.open(c)) {
            double loss = session.loss(feed.validation(0));
            Map<String, Double> change = new LinkedHashMap<>();
            for (Parameter p : session.parameters().hidden()) {
                double largest = 0;
                for (double factor : FACTORS) {
                    represent(session, p, factor);
                    largest = Math.max(largest, Math.abs(session.loss(feed.validation(0)) - loss) / loss);
                }
                represent(session, p, 1);
                change.put(p.name(), largest);
            }
            double epsilon = session.engine().weights() == Format.FLOAT64 ? 1e-9 : 0x1p-24;
            double rounding = ROUNDINGS * epsilon;
            Map<String, Matrices> hidden = c.hidden();
            boolean exact = c.matrices()
                    .weights()
                    .on(session.engine().separateWeights())
                    .exact();
            Map<String, GradientRule> rules = new LinkedHashMap<>();
            change.forEach((name, most) ->
                    rules.put(name, rule(hidden.get(name).transfer().isPlain(), most <= rounding, exact)));
            return new Invariance(loss, change, rounding, rules);
        }
    }

    private static GradientRule rule(boolean plain, boolean invariant, boolean exact) {
        if (invariant && exact) {
            return GradientRule.AT_RADIUS;
        }
        return plain ? GradientRule.AS_IS : invariant ? GradientRule.RESCALED : GradientRule.REPRESENTATIVE;
    }

    private static void represent(Session session, Parameter p, double scale) {
        List<Tensor> masters = List.of(p.master()), weights = List.of(p.weight());
        session.engine().motion().represent(masters, new double[] {scale}, Format.FULL_GRID, weights);
    }

    public boolean invariant(String matrix) {
        return change.get(matrix) <= rounding;
    }

    /** Refuses a rule that is exact on scale-invariant matrices only, where one of these is not. */
    void require(List<String> matrices) {
        String worst = matrices.stream().max(Comparator.comparing(change::get)).orElse(null);
        if (worst != null && !invariant(worst)) {
            throw new Refusal(String.format(
                    Locale.ROOT,
                    "matrices.gradient is at-radius, but the loss depends on the scale of %s: scaling it by 4 or"
                            + " less changes the loss by up to %.3g of its value; set matrices.gradient to auto",
                    worst,
                    change.get(worst)));
        }
    }

    /** The gradient rules of single matrices, where they are measured. */
    static Map<String, GradientRule> needed(Configuration c) {
        Map<String, Matrices> hidden = c.hidden();
        Map<Matrices.Gradient, List<Outline>> asked = c.architecture().hidden().stream()
                .collect(Collectors.groupingBy(
                        matrix -> hidden.get(matrix.name()).gradient()));
        List<Outline> auto = asked.getOrDefault(Matrices.Gradient.AUTO, List.of());
        List<Outline> atRadius = asked.getOrDefault(Matrices.Gradient.AT_RADIUS, List.of());
        for (Outline matrix : atRadius) {
            View view = hidden.get(matrix.name()).view();
            if (!view.keepsInvariance(matrix.kind())) {
                throw new Refusal("matrices.gradient is at-radius, and the loss depends on the scale of the parts that"
                        + " matrices.view " + view.text() + " makes of " + matrix.name()
                        + "; set matrices.gradient to auto");
            }
        }
        if (auto.isEmpty()
                && atRadius.stream()
                        .allMatch(matrix -> c.architecture().invariant(matrix.kind()))) { // by the norms that follow
            return Map.of();
        }
        Invariance measured = measure(c);
        measured.require(atRadius.stream().map(Outline::name).toList());
        Map<String, GradientRule> rules = new LinkedHashMap<>();
        for (Outline matrix : auto) {
            Matrices own = hidden.get(matrix.name());
            rules.put(
                    matrix.name(),
                    own.view().keepsInvariance(matrix.kind())
                            ? measured.rules().get(matrix.name())
                            : own.transfer().isPlain() ? GradientRule.AS_IS : GradientRule.REPRESENTATIVE);
        }
        return rules;
    }

    /** What to tell where the rules are not exact: the lemma holds for scale-invariant matrices only. */
    static Optional<String> warning(Configuration c, List<Matrix> matrices) {
        List<String> inexact = matrices.stream()
                .filter(m -> !m.rule().transfer().isPlain() && !exact(c, m))
                .map(m -> m.whole().kind().path())
                .distinct()
                .toList();
        return inexact.isEmpty()
                ? Optional.empty()
                : Optional.of("mode " + c.matrices().mode().label() + " is not exact on "
                        + c.architecture().label()
                        + ": the loss depends on the scale of " + String.join(", ", inexact)
                        + "; take a plus mode, or matrices.gradient=auto");
    }

    private static boolean exact(Configuration c, Matrix m) {
        Outline.Kind kind = m.whole().kind();
        return switch (m.rule().transfer().gradient()) {
            case RESCALED, AT_RADIUS -> m.rule().view().invariant(c.architecture(), kind);
            case AS_IS, REPRESENTATIVE -> true;
        };
    }
}
