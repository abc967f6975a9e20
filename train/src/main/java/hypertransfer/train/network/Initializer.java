package hypertransfer.train.network;

import hypertransfer.engine.Engine;
import hypertransfer.train.SplitMix;

/**
 * The start of a run: truncated normals of two standard deviations, {@code 1/sqrt(fan in)} for hidden matrices and
 * 0.006 for embedding and head; gains are zero. Every parameter has a stream of its own, drawn with exact arithmetic,
 * so that a seed gives the same network on every machine and engine.
 */
public final class Initializer {
    private static final double EMBEDDING_STD = 0.006;
    private static final double CUT = 2;

    private final SplitMix random;

    private Initializer(long seed, String name) {
        long state = seed;
        for (int i = 0; i < name.length(); i++) {
            state = SplitMix.mix(state) ^ name.charAt(i);
        }
        random = new SplitMix(state);
    }

    /** Writes the masters that this rank owns; the caller represents them as weights. */
    public static void initialize(Engine engine, Parameters parameters, long seed) {
        for (int i = 0; i < parameters.own().size(); i++) {
            Ownership.Piece piece = parameters.share().own().get(i);
            if (!piece.whole().name().endsWith(".gain")) {
                engine.write(parameters.own().get(i).master(), draw(seed, piece));
            }
        }
    }

    /** The piece's part of what is drawn for the whole. */
    private static double[] draw(long seed, Ownership.Piece piece) {
        Outline whole = piece.whole();
        double std = whole.hidden() ? 1 / Math.sqrt(whole.cols()) : EMBEDDING_STD;
        Initializer random = new Initializer(seed, whole.name());
        for (long before = (long) piece.from() * whole.cols(); before > 0; before--) {
            random.truncatedNormal();
        }
        double[] values = new double[Math.toIntExact(piece.size())];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) (std * random.truncatedNormal()); // a float, so that all engines start alike
        }
        return values;
    }

    private double truncatedNormal() {
        while (true) { // Box-Muller, with StrictMath: the same bits everywhere
            double radius = StrictMath.sqrt(-2 * StrictMath.log(1 - uniform()));
            double z = radius * StrictMath.cos(2 * Math.PI * uniform());
            if (Math.abs(z) <= CUT) {
                return z;
            }
        }
    }

    /** From 0 to less than 1, 53 bits. */
    private double uniform() {
        return (random.next() >>> 11) * 0x1p-53;
    }
}
