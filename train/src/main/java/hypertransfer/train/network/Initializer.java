package hypertransfer.train.network;

import hypertransfer.engine.Engine;
import hypertransfer.engine.Span;
import hypertransfer.train.SplitMix;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;

/**
 * The start of a run: truncated normals of two standard deviations, {@code 1/sqrt(fan in)} for hidden matrices and
 * 0.006 for embedding and head; gains and biases are zero. Every parameter has a stream of its own, drawn with exact arithmetic,
 * so that a seed gives the same network on every machine and engine. Blocks of it are drawn on all cores.
 */
public final class Initializer {
    private static final double EMBEDDING_STD = 0.006;
    private static final double CUT = 2;

    private static final int BLOCK = 1 << 14;
    private static final int AT_ONCE = 1 << 22;

    private Initializer() {}

    /** Writes the masters that this rank owns; the caller represents them as weights. */
    public static void initialize(Engine engine, Parameters parameters, long seed) {
        for (int i = 0; i < parameters.own().size(); i++) {
            Ownership.Piece piece = parameters.share().own().get(i);
            if (!piece.whole().name().matches(".*\\.(gain|bias)")) {
                double[] values = Span.of("drawing", () -> draw(seed, piece));
                engine.write(parameters.own().get(i).master(), values);
            }
        }
    }

    /** The piece's part of what is drawn for the whole. */
    private static double[] draw(long seed, Ownership.Piece piece) {
        Outline whole = piece.whole();
        double std = whole.hidden() ? 1 / Math.sqrt(whole.cols()) : EMBEDDING_STD;
        long start = start(seed, whole.name());
        double[] values = new double[Math.toIntExact(piece.size())];
        long at = -(long) piece.from() * whole.cols(); // what is drawn before the piece's first number is passed over
        for (long drawn = 0, wanted; at < values.length; drawn += wanted) {
            wanted = Math.min((long) (1.05 * (values.length - at)) + 16, AT_ONCE); // one in 22 is cut away
            long from = drawn, to = drawn + wanted;
            List<double[]> blocks = LongStream.range(0, (wanted + BLOCK - 1) / BLOCK)
                    .parallel()
                    .mapToObj(k -> truncatedNormals(start, from + k * BLOCK, Math.min(to, from + (k + 1) * BLOCK)))
                    .toList();
            for (double[] block : blocks) {
                for (int i = (int) Math.clamp(-at, 0, block.length); i < block.length && at + i < values.length; i++) {
                    // a float, so that all engines start alike
                    values[(int) (at + i)] = (float) (std * block[i]);
                }
                at += block.length;
            }
        }
        return values;
    }

    /** Where a parameter's stream starts. */
    private static long start(long seed, String name) {
        long state = seed;
        for (int i = 0; i < name.length(); i++) {
            state = SplitMix.mix(state) ^ name.charAt(i);
        }
        return state;
    }

    /** What is kept of a block of normals: Box-Muller, with StrictMath, so that the bits are the same everywhere. */
    private static double[] truncatedNormals(long start, long from, long to) {
        SplitMix random = SplitMix.after(start, 2 * from);
        double[] kept = new double[(int) (to - from)];
        int count = 0;
        for (long i = from; i < to; i++) {
            double radius = StrictMath.sqrt(-2 * StrictMath.log(1 - uniform(random)));
            double z = radius * StrictMath.cos(2 * Math.PI * uniform(random));
            if (Math.abs(z) <= CUT) {
                kept[count++] = z;
            }
        }
        return Arrays.copyOf(kept, count);
    }

    /** From 0 to less than 1, 53 bits. */
    private static double uniform(SplitMix random) {
        return (random.next() >>> 11) * 0x1p-53;
    }
}
