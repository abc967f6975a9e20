package hypertransfer.lab.certify;

import hypertransfer.core.GradientRule;
import hypertransfer.core.Refusal;
import hypertransfer.core.Schedule;
import hypertransfer.core.Space;
import hypertransfer.core.Space.Hyperball;
import hypertransfer.core.Transfer;
import hypertransfer.engine.Dims;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.config.Matrices;
import hypertransfer.train.data.Corpus;
import hypertransfer.train.data.Split;
import hypertransfer.train.optimizer.Direction;
import hypertransfer.train.optimizer.Direction.Adam;
import hypertransfer.train.optimizer.Direction.Muon;
import hypertransfer.train.optimizer.Direction.Sgd;
import hypertransfer.train.optimizer.Lion;
import hypertransfer.train.optimizer.Matrix;
import hypertransfer.train.optimizer.Rule;
import hypertransfer.train.optimizer.Signum;
import hypertransfer.train.optimizer.Soap;
import hypertransfer.train.run.ScheduledRates;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What decides the dynamics of a side in exact arithmetic. The carrier is gone from it, as are number formats and radii that
 * nothing sees; what is left of a hidden matrix is how far it turns at each step, and which gradients its direction sees.
 *
 * @param facts what holds for all matrices, by key
 * @param parts every hidden matrix, or part that counts as one, by name
 */
record Form(Map<String, String> facts, Schedule adamw, Map<String, Part> parts) {

    /**
     * How far a matrix turns: it follows this space at these rates.
     *
     * @param decays of each step, where they are recorded; else empty
     */
    record Turn(Space space, Schedule rates, List<Double> decays) {}

    /**
     * A hidden matrix.
     *
     * @param mode of its transfer, for people
     * @param invariant whether the loss does not depend on its scale
     * @param seen the space at whose norm the direction sees the gradient, the target's own where the rule is exact
     * @param start what it begins with, as far as anything sees it
     * @param loose whether the gradient's scale does not matter, as without momentum
     */
    record Part(
            String mode,
            Rule rule,
            boolean invariant,
            Direction direction,
            Turn turn,
            String seen,
            String start,
            boolean loose) {}

    /** @param series of the source that this side takes for its schedule; null where it has its own */
    static Form of(Side side, Form source, String series) {
        Configuration c = side.configuration();
        List<Matrix> matrices = Matrix.of(
                c.architecture().hidden(), c.routing(Map.of(), false), c.model().head());
        ScheduledRates rates = ScheduledRates.of(c, matrices, told -> {});
        Map<String, Matrices> hidden = c.hidden();
        Map<String, Part> parts = new LinkedHashMap<>();
        for (int k = 0; k < matrices.size(); k++) {
            Matrix m = matrices.get(k);
            List<Double> decays =
                    rates.decays().isEmpty() ? List.of() : rates.decays().get(k);
            Turn turn = new Turn(m.rule().transfer().target(), rates.schedules().get(k), decays);
            Part own = part(c, m, hidden.get(m.whole().name()), turn);
            Part its = series == null ? null : source.parts.get(m.name());
            parts.put(m.name(), its == null ? own : taking(own, its, series));
        }
        return new Form(facts(c), c.adamw().schedule(c.steps()), parts);
    }

    /** By values: two ways to say the same give the same fact. */
    private static Map<String, String> facts(Configuration c) {
        Map<String, String> facts = ConfigurationFile.settings(c);
        facts.keySet()
                .removeIf(key -> key.equals("model.recompute")
                        || !key.matches("network|seed|steps|(model|clip)\\..*|data\\.(train|shuffle)"
                                + "|adamw\\.(decay|beta.|epsilon)"));
        Dims dims = c.architecture().dims(c.model().batch());
        facts.put("model.kv_heads", "" + dims.G());
        facts.put("model.mlp_width", "" + dims.F());
        facts.put("model.window", "" + Math.min(dims.W(), dims.T()));
        if (!c.data().shuffle()) { // a step then reads the same tokens however they are cut into micro-batches
            facts.put("model.batch", dims.B() * c.model().accumulation() + " with accumulation");
            facts.remove("model.accumulation");
        }
        String place = facts.get("data.train");
        if (!place.equals("demo")) { // the same shards may lie elsewhere, or be gone
            try (Corpus corpus = Corpus.open(List.of(place.split(",")), Split.TRAIN, dims.V())) {
                facts.put("data.train", corpus.fingerprint().toString());
            } catch (Refusal | UncheckedIOException e) {
                facts.put("data.train", place);
            }
        }
        return facts;
    }

    private static Part part(Configuration c, Matrix m, Matrices own, Turn turn) {
        Transfer t = m.rule().transfer();
        Space target = t.target(), carrier = t.carrier();
        GradientRule gradient = t.gradient();
        boolean invariant =
                m.rule().view().invariant(c.architecture(), m.whole().kind());
        boolean scaled = gradient == GradientRule.RESCALED || gradient == GradientRule.AT_RADIUS;
        boolean exact = target.equals(carrier)
                || own.gradient() == Matrices.Gradient.AUTO // which measures where it is exact
                || gradient == GradientRule.REPRESENTATIVE
                || scaled && invariant;
        boolean wrong = !exact && scaled;
        Space at = exact ? target : carrier;
        String seen = wrong ? "the matrix of " + carrier + " with the scale of " + target : at.toString();
        Direction direction = m.rule().direction();
        boolean ball = target instanceof Hyperball, clipped = c.clip().any();
        boolean blind = invariant && !clipped && scaleFree(direction, ball);
        double radius = m.rule().radius(), placebo = c.matrices().weights().placebo();
        Double growth = c.matrices().proxyGrowth();
        String start = own.init() == Matrices.Init.ZERO
                ? "zero" + (ball ? ", then radius " + own.zeroRadius() : "")
                : "normal"
                        + ((at instanceof Hyperball || wrong) && radius != 1 && !blind ? ", radius " + radius : "")
                        + (placebo == 1 || invariant ? "" : ", placebo " + placebo)
                        + (growth == null ? "" : ", matrices.proxy_growth " + growth + " of radius " + radius);
        boolean loose = blind && memoryless(direction);
        return new Part(own.mode().label(), m.rule(), invariant, direction, turn, seen, start, loose);
    }

    /** It turns as far as the matrix that was recorded, where the series says so of its space. */
    private static Part taking(Part own, Part its, String series) {
        Transfer t = its.rule.transfer();
        boolean turns = switch (series) {
            case "replay" -> !(t.carrier() instanceof Hyperball) || its.rule.radius() == 1;
            case "rate" -> own.turn.space.equals(t.carrier());
            default -> own.turn.space instanceof Hyperball;
        };
        if (!turns) {
            return own;
        }
        String seen = series.equals("replay") ? t.carrier().toString() : own.seen; // the very matrices of the other
        return new Part(own.mode, own.rule, own.invariant, own.direction, its.turn, seen, own.start, own.loose);
    }

    /** Whether gradients that are all multiplied by one number give the same direction. */
    private static boolean scaleFree(Direction direction, boolean ball) {
        return switch (direction) {
            case Adam a -> a.epsilon() == 0;
            case Soap s -> s.epsilon() == 0;
            case Sgd s -> ball;
            default -> true;
        };
    }

    private static boolean memoryless(Direction direction) {
        return switch (direction) {
            case Muon m -> m.momentum() == 0;
            case Sgd s -> s.momentum() == 0;
            case Signum s -> s.momentum() == 0;
            case Lion l -> l.beta1() == 0;
            default -> false;
        };
    }
}
