package hypertransfer.train.run;

import hypertransfer.core.GradientRule;
import hypertransfer.core.Refusal;
import hypertransfer.engine.Format;
import hypertransfer.engine.Tensor;
import hypertransfer.train.config.Algorithm;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.Matrices;
import hypertransfer.train.network.Parameter;
import hypertransfer.train.network.Parameters;
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
        try (Trainee trainee = Trainee.separate(c);
                Feed feed = Feed.open(c)) {
            double loss = trainee.loss(feed.validation(0));
            Map<String, Double> change = new LinkedHashMap<>();
            for (Parameter p : trainee.parameters().hidden()) {
                double largest = 0;
                for (double factor : FACTORS) {
                    represent(trainee, p, factor);
                    largest = Math.max(largest, Math.abs(trainee.loss(feed.validation(0)) - loss) / loss);
                }
                represent(trainee, p, 1);
                change.put(p.name(), largest);
            }
            double epsilon = trainee.engine().weights() == Format.FLOAT64 ? 1e-9 : 0x1p-24;
            double rounding = ROUNDINGS * epsilon;
            Algorithm algorithm = c.algorithm();
            boolean exact =
                    algorithm.representation(trainee.engine().separateWeights()).exact();
            Map<String, GradientRule> rules = new LinkedHashMap<>();
            change.forEach((name, most) ->
                    rules.put(name, rule(algorithm.of(name).transfer().isPlain(), most <= rounding, exact)));
            return new Invariance(loss, change, rounding, rules);
        }
    }

    private static GradientRule rule(boolean plain, boolean invariant, boolean exact) {
        if (invariant && exact) {
            return GradientRule.AT_RADIUS;
        }
        return plain ? GradientRule.AS_IS : invariant ? GradientRule.RESCALED : GradientRule.REPRESENTATIVE;
    }

    private static void represent(Trainee trainee, Parameter p, double scale) {
        List<Tensor> masters = List.of(p.master()), weights = List.of(p.weight());
        trainee.engine().motion().represent(masters, new double[] {scale}, Format.FULL_GRID, weights);
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
                            + " less changes the loss by up to %.3g of its value; set matrices.gradient to auto, or to"
                            + " at-radius-anyway if you want another network's gradient",
                    worst,
                    change.get(worst)));
        }
    }

    /** The gradient rules of single matrices, where they are measured. */
    static Map<String, GradientRule> needed(Configuration c) {
        Algorithm algorithm = c.algorithm();
        Map<Matrices.Gradient, List<String>> asked = Parameters.hidden(c.architecture()).stream()
                .collect(Collectors.groupingBy(name -> algorithm.of(name).gradient()));
        List<String> auto = asked.getOrDefault(Matrices.Gradient.AUTO, List.of());
        List<String> atRadius = asked.getOrDefault(Matrices.Gradient.AT_RADIUS, List.of());
        requireInvariantParts(c, atRadius);
        if (auto.isEmpty()
                && atRadius.stream().allMatch(c.architecture().design()::invariant)) { // by the norms that follow
            return Map.of();
        }
        Invariance measured = measure(c);
        measured.require(atRadius);
        Map<String, GradientRule> rules = new LinkedHashMap<>(measured.rules());
        rules.keySet().retainAll(auto);
        rules.replaceAll((name, rule) -> algorithm.of(name).view().keepsInvariance(name)
                ? rule
                : algorithm.of(name).transfer().isPlain() ? GradientRule.AS_IS : GradientRule.REPRESENTATIVE);
        return rules;
    }

    private static void requireInvariantParts(Configuration c, List<String> atRadius) {
        for (String name : atRadius) {
            View view = c.algorithm().of(name).view();
            if (!view.keepsInvariance(name)) {
                throw new Refusal(
                        "matrices.gradient is at-radius, and the loss depends on the scale of the parts that"
                                + " matrices.view " + view.text() + " makes of " + name
                                + "; set matrices.gradient to auto, or to at-radius-anyway if you want another network's gradient");
            }
        }
    }

    /** What to tell where the rules are not exact: the lemma holds for scale-invariant matrices only. */
    static Optional<String> warning(Configuration c, Map<String, GradientRule> rules) {
        Algorithm algorithm = c.algorithm();
        List<String> inexact = rules.entrySet().stream()
                .filter(e -> e.getValue() == GradientRule.RESCALED || e.getValue() == GradientRule.AT_RADIUS)
                .filter(e -> !algorithm.of(e.getKey()).transfer().isPlain() && !invariant(c, e.getKey()))
                .map(e -> e.getKey().replaceFirst("^blocks\\.\\d+\\.(.*)\\.weight$", "$1"))
                .distinct()
                .toList();
        return inexact.isEmpty()
                ? Optional.empty()
                : Optional.of("mode " + c.matrices().mode().label() + " is not exact on "
                        + c.architecture().design().label()
                        + ": the loss depends on the scale of " + String.join(", ", inexact)
                        + "; take a plus mode, or matrices.gradient=auto");
    }

    private static boolean invariant(Configuration c, String part) {
        String whole = View.whole(part);
        return c.architecture().design().invariant(whole)
                && c.algorithm().of(whole).view().keepsInvariance(whole);
    }
}
