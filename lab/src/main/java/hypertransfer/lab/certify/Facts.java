package hypertransfer.lab.certify;

import hypertransfer.core.GradientRule;
import hypertransfer.core.Refusal;
import hypertransfer.core.Schedule;
import hypertransfer.core.Space;
import hypertransfer.core.Space.Hyperball;
import hypertransfer.core.Transfer;
import hypertransfer.engine.Dims;
import hypertransfer.lab.certify.Findings.Means;
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
import hypertransfer.train.optimizer.SoapMuon;
import hypertransfer.train.run.ScheduledRates;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What decides the dynamics of a side in exact arithmetic. The carrier is gone from it, as are number formats and radii that
 * nothing sees; what is left of a hidden matrix is how far it turns at each step, and which gradients its direction sees.
 *
 * @param common what holds for all matrices, by key
 * @param parts every hidden matrix, or part that counts as one, by name
 */
record Facts(Map<String, String> common, Schedule adamw, Map<String, Part> parts) {
    /**
     * @param mode of its transfer, for people
     * @param follows the space whose steps it takes, at these rates
     * @param decays of each step, where they are recorded; else empty
     * @param taken whether these steps are those that the other side recorded
     * @param seen the space at whose norm the direction sees the gradient, the target's own where the rule is exact
     * @param scale what it means where the gradient is seen at another norm
     * @param start what it begins with, as far as anything sees it
     */
    record Part(
            String mode,
            Rule rule,
            Space follows,
            Schedule rates,
            List<Double> decays,
            boolean taken,
            String seen,
            Means scale,
            String start) {
        /** It turns as far as the matrix that was recorded, where the series says so of its space. */
        private Part taking(Part its, String series) {
            Space carrier = its.rule.transfer().carrier();
            boolean turns = switch (series) {
                case "replay" -> !(carrier instanceof Hyperball) || its.rule.radius() == 1;
                case "rate" -> follows.equals(carrier);
                default -> follows instanceof Hyperball;
            };
            String at = series.equals("replay") ? carrier.toString() : seen; // the very matrices of the other
            return turns ? new Part(mode, rule, its.follows, its.rates, its.decays, true, at, scale, start) : this;
        }
    }

    /** @param series of the source that this side takes for its schedule; null where it has its own */
    static Facts of(Configuration c, Facts source, String series) {
        List<Matrix> matrices =
                Matrix.of(c.architecture().hidden(), c.routing(false), c.model().head());
        ScheduledRates rates = ScheduledRates.of(c, matrices, told -> {});
        Map<String, Matrices> hidden = c.hidden();
        Map<String, Part> parts = new LinkedHashMap<>();
        for (int k = 0; k < matrices.size(); k++) {
            Matrix m = matrices.get(k);
            List<Double> decays =
                    rates.decays().isEmpty() ? List.of() : rates.decays().get(k);
            Part own =
                    part(c, m, hidden.get(m.whole().name()), rates.schedules().get(k), decays);
            Part its = series == null ? null : source.parts.get(m.name());
            parts.put(m.name(), its == null ? own : own.taking(its, series));
        }
        return new Facts(common(c), c.adamw().schedule(c.steps()), parts);
    }

    /** By values: two ways to say the same give the same fact. */
    private static Map<String, String> common(Configuration c) {
        Map<String, String> facts = ConfigurationFile.settings(c);
        String rate = facts.get("adamw.rate");
        facts.keySet()
                .removeIf(key -> key.matches("model\\.(recompute|precision)")
                        || !key.matches("network|seed|steps|(model|clip)\\..*|data\\.(train|shuffle)"
                                + "|adamw\\.(decay|beta.|epsilon|.*_rate)"));
        facts.replaceAll((key, value) -> key.startsWith("adamw.") && value.equals("null") ? rate : value);
        Dims dims = c.architecture().dims(c.model().batch());
        facts.put("model.kv_heads", "" + dims.G());
        facts.put("model.mlp_width", "" + dims.F());
        facts.put("model.window", "" + Math.min(dims.W(), dims.T()));
        facts.put(
                "model.batch times model.accumulation",
                "" + dims.B() * c.model().accumulation());
        facts.remove("model.accumulation");
        if (!c.data().shuffle()) { // a step then reads the same tokens however they are cut into micro-batches
            facts.put("model.batch", "any");
        }
        String place = facts.get("data.train");
        if (!place.equals("demo")) {
            try (Corpus corpus = Corpus.open(List.of(place.split(",")), Split.TRAIN, dims.V())) {
                facts.put("data.train", corpus.fingerprint().toString());
            } catch (Refusal | UncheckedIOException e) {
                // the shards are gone: their place must do
            }
        }
        return facts;
    }

    private static Part part(Configuration c, Matrix m, Matrices own, Schedule rates, List<Double> decays) {
        Transfer t = m.rule().transfer();
        Space target = t.target(), carrier = t.carrier();
        GradientRule gradient = t.gradient();
        boolean invariant =
                m.rule().view().invariant(c.architecture(), m.whole().kind());
        boolean scaled = gradient == GradientRule.RESCALED || gradient == GradientRule.AT_RADIUS;
        boolean exact = target.equals(carrier) || gradient == GradientRule.REPRESENTATIVE || scaled && invariant;
        boolean wrong = !exact && scaled;
        Space at = exact ? target : carrier;
        String seen = wrong ? "the matrix of " + carrier + " with the scale of " + target : at.toString();
        boolean ball = target instanceof Hyperball;
        boolean blind = invariant && !c.clip().any() && scaleFree(m.rule().direction(), ball);
        double radius = m.rule().radius(), placebo = c.matrices().weights().placebo();
        Double growth = c.matrices().proxyGrowth();
        String start = own.init() == Matrices.Init.ZERO
                ? "zero" + (ball ? ", then radius " + own.zeroRadius() : "")
                : "normal"
                        + ((at instanceof Hyperball || wrong) && radius != 1 && !blind ? ", radius " + radius : "")
                        + (placebo == 1 || invariant ? "" : ", placebo " + placebo)
                        + (own.proxyRate() == 0 ? "" : ", matrices.proxy_rate " + own.proxyRate())
                        + (growth == null ? "" : ", matrices.proxy_growth " + growth + " of radius " + radius);
        boolean loose = blind && memoryless(m.rule().direction());
        Means scale = loose ? Means.MAP : invariant ? Means.FIRST_ORDER : Means.DIFFERENT;
        return new Part(own.mode().label(), m.rule(), target, rates, decays, false, seen, scale, start);
    }

    /** Whether gradients that are all multiplied by one number give the same direction. */
    private static boolean scaleFree(Direction direction, boolean ball) {
        return switch (direction) {
            case Adam a -> a.epsilon() == 0;
            case Soap s -> s.epsilon() == 0;
            case SoapMuon s -> s.soap().epsilon() == 0;
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
