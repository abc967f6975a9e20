package hypertransfer.engine;

/**
 * The two formats of eight bits that products take on {@link Format#FP8} engines: the nearest number, ties to even, and what is too
 * large becomes the largest.
 */
public enum Fp8 {
    /** Of activations and weights: four significant bits, from 2^-6 (with fewer bits 2^-9) to 448. */
    E4M3(3, 7, 448),
    /** Of gradients: three significant bits, from 2^-14 (2^-16) to 57344. */
    E5M2(2, 15, 57344);

    private final int mantissa; // bits behind the point
    private final int bias;
    private final double largest;

    Fp8(int mantissa, int bias, double largest) {
        this.mantissa = mantissa;
        this.bias = bias;
        this.largest = largest;
    }

    public double nearest(double x) {
        double unit = Math.scalb(1.0, exponent(x) - mantissa);
        return Math.clamp(Math.rint(x / unit) * unit, -largest, largest);
    }

    /** Of the binade of x; numbers below the smallest normal one share its. */
    private int exponent(double x) {
        return Math.max(Math.getExponent(x), 1 - bias);
    }

    /** The bits of the nearest number; all NaNs are one. */
    public byte bits(double x) {
        double r = nearest(x);
        int units = (int) Math.scalb(Math.abs(r), mantissa - exponent(r)), sign = Math.copySign(1, x) < 0 ? 0x80 : 0;
        return (byte) (Double.isNaN(x) ? 0x7f : sign | (exponent(r) + bias - 1 << mantissa) + units);
    }

    public double value(byte bits) {
        int field = (bits & 0x7f) >> mantissa, units = bits & (1 << mantissa) - 1;
        double x = field == 0 ? units : units + (1 << mantissa);
        double value = Math.scalb(x, Math.max(field, 1) - bias - mantissa);
        return value > largest ? Double.NaN : bits < 0 ? -value : value; // no infinity is ever written
    }

    /**
     * A format and the power of two that numbers are multiplied by before they are rounded. It depends on nothing but sizes, so
     * that two runs that should have the same bits share it, and no pass over the numbers is needed.
     */
    public record Grid(Fp8 format, int exponent) {
        /** Of the gradients at logits, before they are divided by the number of tokens: between -1 and 1. */
        public static final Grid LOGITS = new Grid(E5M2, 15);

        /**
         * Of a tensor's role; null where it is not rounded to eight bits. Activations that products read have an rms of about 1, those
         * of relu squared up to 10 with a long tail. A gradient at a token is about 2^-5 of one over the number of tokens and
         * smaller with several micro-batches.
         */
        public static Grid of(Role role, Dims dims) {
            return switch (role) {
                case OPERAND -> new Grid(E4M3, -2);
                case OPERAND_GRADIENT -> new Grid(E5M2, 10 + halfLog2((long) dims.N() * dims.N()));
                default -> null;
            };
        }

        /**
         * Of a weight with so many columns: about 1 at the start, so that norms may grow by 80 and shrink by 50. A head that AdamW
         * trains with decay 0.1 stays below 10, which is below the largest number up to 2,000 columns.
         */
        public static Grid weight(int cols) {
            return new Grid(E4M3, halfLog2(cols));
        }

        /** The logarithm of the square root, rounded. */
        private static int halfLog2(long x) {
            return (int) Math.round(Math.log(x) / Math.log(2) / 2);
        }

        public double nearest(double x) {
            return Math.scalb(format.nearest(Math.scalb(x, exponent)), -exponent);
        }
    }
}
