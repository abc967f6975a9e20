package hypertransfer.engine;

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

    /** The bits of the nearest bfloat16, ties to even; infinities stay, and a NaN stays one. */
    public static short bf16(float value) {
        int bits = Float.floatToRawIntBits(value);
        return (short) ((Float.isNaN(value) ? bits | 0x400000 : bits + 0x7fff + (bits >>> 16 & 1)) >>> 16);
    }

    /** The nearest bfloat16. */
    public static float toBf16(float value) {
        return Float.intBitsToFloat(bf16(value) << 16);
    }
}
