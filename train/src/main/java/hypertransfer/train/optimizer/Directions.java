package hypertransfer.train.optimizer;

import hypertransfer.core.Coefficients;
import hypertransfer.core.Refusal;
import hypertransfer.core.ShapeFactor;
import hypertransfer.engine.Motion.Iteration;
import hypertransfer.train.Word;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Function;

/** The directions that a configuration can name. Another one needs its class, with its facts, and a line here. */
public enum Directions implements Word {
    MUON(Direction.Muon.FACTS),
    ADAM(Direction.Adam.FACTS),
    SGD(Direction.Sgd.FACTS),
    LION(Lion.FACTS),
    SIGNUM(Signum.FACTS),
    NORMUON(NorMuon.FACTS),
    ADAMUON(AdaMuon.FACTS),
    SOAP(Soap.FACTS),
    SOAP_MUON(SoapMuon.FACTS);

    /** What keys take where neither a configuration nor a direction says otherwise; in one order, which a run's files show. */
    private static final SortedMap<String, Object> USUAL =
            new TreeMap<>(Map.of("momentum", 0.95, "beta1", 0.9, "beta2", 0.95, "shape_factor", "none"));

    /**
     * What a configuration needs to know of a direction.
     *
     * @param reads the keys of {@code matrices} that it reads
     * @param defaults what it takes for some of them unless told otherwise
     */
    public record Facts(List<String> reads, Map<String, Object> defaults, Function<Settings, Direction> make) {}

    /** The keys of {@code matrices} that directions read; each of them reads some. */
    public record Settings(
            double momentum,
            boolean nesterov,
            Coefficients coefficients,
            boolean bf16,
            ShapeFactor shapeFactor,
            double beta1,
            double beta2,
            double epsilon,
            int preconditionFrequency) {
        /** Newton-Schulz as engines take it. */
        Iteration iteration() {
            Iteration iteration = Direction.Muon.iteration(coefficients, 0);
            return bf16 ? iteration.inBf16() : iteration;
        }
    }

    public final Facts facts;

    Directions(Facts facts) {
        this.facts = facts;
    }

    public boolean reads(String key) {
        return facts.reads.contains(key);
    }

    /**
     * The value of a key that a configuration leaves open.
     *
     * @param paper whether the preset is one of the paper's sizes, whose directions have the factor {@code rms}
     */
    public Object value(String key, boolean paper) {
        return paper && key.equals("shape_factor") && reads(key)
                ? "rms"
                : facts.defaults.getOrDefault(key, USUAL.get(key));
    }

    public static Iterable<String> open() {
        return USUAL.keySet();
    }

    /** Makes the direction; refuses what it would ignore. */
    public Direction make(Settings s) {
        if (s.nesterov && !reads("nesterov")) {
            throw new Refusal("matrices.nesterov is true, and " + label()
                    + " has no momentum to look ahead with; set it to false");
        }
        if (s.shapeFactor != ShapeFactor.NONE && !reads("shape_factor")) {
            throw new Refusal("matrices.shape_factor is " + Word.of(s.shapeFactor) + ", and the norm of " + label()
                    + " follows from the shape already; set it to none");
        }
        return facts.make.apply(s);
    }
}
