package hypertransfer.train.network;

import hypertransfer.engine.Engine;
import hypertransfer.engine.Tensor;
import hypertransfer.train.SplitMix;
import hypertransfer.train.network.Outline.Kind;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/**
 * The start of a run: truncated normals of two standard deviations, {@code 1/sqrt(fan in)} for hidden matrices and
 * 0.006 for embedding and head; gains and biases are zero. Every parameter has a stream of its own, drawn with exact arithmetic,
 * so that a seed gives the same network on every machine and engine. Blocks of it are drawn on all cores.
 */
public final class Initializer {
    private static final double EMBEDDING_STD = 0.006;
    /** In standard deviations. */
    private static final double CUT = 2;

    private static final int BLOCK = 1 << 14;
    private static final int AT_ONCE = 1 << 22;

    private Initializer() {}

    /** Writes the masters that this rank owns; the caller represents them as weights. */
    public static void initialize(Engine engine, Parameters parameters, long seed) {
        List<Parameter> own = parameters.own();
        long most = own.stream().mapToLong(p -> p.master().bytes()).max().orElse(0);
        try (Arena arena = Arena.ofShared()) {
            MemorySegment memory = arena.allocate(most, 64);
            for (int i = 0; i < own.size(); i++) {
                Ownership.Piece piece = parameters.share.own().get(i);
                Tensor master = own.get(i).master();
                if (piece.whole().kind() != Kind.GAIN && piece.whole().kind() != Kind.BIAS) {
                    MemorySegment values = memory.asSlice(0, master.bytes());
                    draw(seed, piece, master.numberBytes(), values);
                    engine.load(values, master);
                }
            }
        }
    }

    /** The piece's part of what is drawn for the whole. */
    private static void draw(long seed, Ownership.Piece piece, int numberBytes, MemorySegment to) {
        Outline whole = piece.whole();
        double std = whole.hidden() ? 1 / Math.sqrt(whole.cols()) : EMBEDDING_STD;
        long start = start(seed, whole.name()), size = piece.size();
        long at = -(long) piece.from() * whole.cols(); // what is drawn before the piece's first number is passed over
        for (long drawn = 0, wanted; at < size; drawn += wanted) {
            wanted = Math.min((long) (1.05 * (size - at)) + 16, AT_ONCE); // one in 22 is cut away
            long from = drawn, end = drawn + wanted;
            List<Block> blocks = LongStream.range(0, (wanted + BLOCK - 1) / BLOCK)
                    .parallel()
                    .mapToObj(k -> block(start, from + k * BLOCK, Math.min(end, from + (k + 1) * BLOCK), std))
                    .toList();
            long[] ats = new long[blocks.size() + 1];
            ats[0] = at;
            for (int k = 0; k < blocks.size(); k++) {
                ats[k + 1] = ats[k] + blocks.get(k).count;
            }
            IntStream.range(0, blocks.size())
                    .parallel()
                    .forEach(k -> blocks.get(k).copy(to, ats[k], size, numberBytes));
            at = ats[blocks.size()];
        }
    }

    /** Numbers that follow each other: the first {@code count} of an array. They are floats, so that all engines start alike. */
    private record Block(float[] values, int count) {
        /** Copies those that fall into memory for {@code size} numbers, if the first of the block is its number {@code at}. */
        void copy(MemorySegment to, long at, long size, int numberBytes) {
            int first = Math.clamp(-at, 0, count), last = Math.clamp(size - at, first, count);
            if (first == last) { // a block behind the last number
                return;
            }
            if (numberBytes == Float.BYTES) {
                MemorySegment.copy(values, first, to, ValueLayout.JAVA_FLOAT, (at + first) * Float.BYTES, last - first);
            } else {
                for (int i = first; i < last; i++) {
                    to.setAtIndex(ValueLayout.JAVA_DOUBLE, at + i, values[i]);
                }
            }
        }
    }

    private static long start(long seed, String name) {
        long state = seed;
        for (int i = 0; i < name.length(); i++) {
            state = SplitMix.mix(state) ^ name.charAt(i);
        }
        return state;
    }

    /** Normal numbers by Box and Muller without those beyond the cut; StrictMath, so that the bits are the same everywhere. */
    private static Block block(long start, long from, long to, double std) {
        float[] kept = new float[(int) (to - from)];
        int count = 0;
        for (long i = from; i < to; i++) {
            double a = 1 - SplitMix.uniform(start, 2 * i), u = SplitMix.uniform(start, 2 * i + 1);
            double z = StrictMath.sqrt(-2 * StrictMath.log(a)) * StrictMath.cos(2 * Math.PI * u);
            if (Math.abs(z) <= CUT) {
                kept[count++] = (float) (std * z);
            }
        }
        return new Block(kept, count);
    }
}
