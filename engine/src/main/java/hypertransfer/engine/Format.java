package hypertransfer.engine;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** A format of numbers. */
public enum Format {
    FLOAT64(8),
    FLOAT32(4),
    /** The upper half of a float32: eight significant bits. */
    BF16(2);

    private final int bytes;

    Format(int bytes) {
        this.bytes = bytes;
    }

    public int bytes() {
        return bytes;
    }

    /** The format whose numbers have so many bytes. */
    static Format of(int bytes) {
        return switch (bytes) {
            case 8 -> FLOAT64;
            case 4 -> FLOAT32;
            case 2 -> BF16;
            default -> throw new EngineException("no format has numbers of " + bytes + " bytes; there are 2, 4 and 8");
        };
    }

    /** Writes a number that this format has. */
    void put(MemorySegment to, long at, double value) {
        switch (this) {
            case FLOAT64 -> to.set(ValueLayout.JAVA_DOUBLE_UNALIGNED, at, value);
            case FLOAT32 -> to.set(ValueLayout.JAVA_FLOAT_UNALIGNED, at, (float) value);
            case BF16 ->
                to.set(ValueLayout.JAVA_SHORT_UNALIGNED, at, (short) (Float.floatToRawIntBits((float) value) >> 16));
        }
    }

    double get(MemorySegment from, long at) {
        return switch (this) {
            case FLOAT64 -> from.get(ValueLayout.JAVA_DOUBLE_UNALIGNED, at);
            case FLOAT32 -> from.get(ValueLayout.JAVA_FLOAT_UNALIGNED, at);
            case BF16 -> Float.intBitsToFloat(from.get(ValueLayout.JAVA_SHORT_UNALIGNED, at) << 16);
        };
    }

    /** The bits of the nearest bfloat16, ties to even; infinities stay, and a NaN stays one. */
    public static short bf16(float value) {
        int bits = Float.floatToRawIntBits(value);
        return (short) ((Float.isNaN(value) ? bits | 0x400000 : bits + 0x7fff + (bits >>> 16 & 1)) >>> 16);
    }

    /** The nearest bfloat16. */
    public static float toBf16(float value) {
        return Float.intBitsToFloat(bf16(value) << 16);
    }

    /** What Veltkamp's splitting multiplies with, so that this many bits of a double's mantissa are left. */
    public static double splitter(int bits) {
        return (double) (1L << Engine.FULL_GRID - bits) + 1;
    }

    /** The nearest number of that many bits: x minus its low part, which the splitter's product has pushed out. */
    public static double round(double x, int bits) {
        double c = splitter(bits) * x;
        return bits == Engine.FULL_GRID ? x : c - (c - x);
    }
}
