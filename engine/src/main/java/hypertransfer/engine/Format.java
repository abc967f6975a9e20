package hypertransfer.engine;

/** A format of numbers. */
public enum Format {
    FLOAT64,
    FLOAT32,
    /** The upper half of a float32: eight significant bits. */
    BF16,
    /** {@link #BF16}, except that products take operands of eight bits, see {@link Fp8}. */
    FP8;

    /** As many bits of mantissa as the widest format has. */
    public static final int FULL_GRID = 53;

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
        return (double) (1L << FULL_GRID - bits) + 1;
    }

    /** The nearest number of that many bits: x minus its low part, which the splitter's product has pushed out. */
    public static double round(double x, int bits) {
        double c = splitter(bits) * x;
        return bits == FULL_GRID ? x : c - (c - x);
    }
}
