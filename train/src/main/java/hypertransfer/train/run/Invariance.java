package hypertransfer.train.run;

import hypertransfer.core.GradientRule;
import hypertransfer.core.Mode;
import hypertransfer.engine.Format;
import hypertransfer.engine.Tensor;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.Matrices;
import hypertransfer.train.network.Outline;
import hypertransfer.train.network.Parameter;
import hypertransfer.train.optimizer.Matrix;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

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
            change.forEach((name, most) -> rules.put(name, hidden.get(name).exact(most <= rounding, exact)));
            return new Invariance(loss, change, rounding, rules);
        }
    }

    private static void represent(Session session, Parameter p, double scale) {
        List<Tensor> masters = List.of(p.master()), weights = List.of(p.weight());
        session.engine().motion().represent(masters, new double[] {scale}, Format.FULL_GRID, weights);
    }

    public boolean invariant(String matrix) {
        return change.get(matrix) <= rounding;
    }

    /** What to tell where the rules are not exact. */
    static Optional<String> warning(Configuration c, List<Matrix> matrices) {
        Map<String, Matrices> hidden = c.hidden();
        List<String> inexact = matrices.stream()
                .filter(m -> !m.rule().transfer().isPlain()
                        && !exact(c, m, hidden.get(m.whole().name()).mode()))
                .map(m -> m.whole().kind().path())
                .distinct()
                .toList();
        return inexact.isEmpty()
                ? Optional.empty()
                : Optional.of("mode " + c.matrices().mode().label() + " is not exact on "
                        + c.architecture().label() + ": the gradients of " + String.join(", ", inexact)
                        + " are not their target's; set matrices.gradient to auto");
    }

    private static boolean exact(Configuration c, Matrix m, Mode mode) {
        Outline.Kind kind = m.whole().kind();
        return switch (m.rule().transfer().gradient()) {
            // the lemma holds for scale-invariant matrices only
            case RESCALED, AT_RADIUS -> m.rule().view().invariant(c.architecture(), kind);
            case AS_IS -> mode == Mode.FAIR;
            case REPRESENTATIVE -> true;
        };
    }
}
