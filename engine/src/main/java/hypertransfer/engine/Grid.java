package hypertransfer.engine;

/** Numbers with fewer bits of mantissa than a double has. */
public final class Grid {
    private Grid() {}

    /** What Veltkamp's splitting multiplies with, so that this many bits are left. */
    public static double splitter(int bits) {
        return (double) (1L << Engine.FULL_GRID - bits) + 1;
    }

    /** The nearest number of that many bits: x minus its low part, which the splitter's product has pushed out. */
    public static double round(double x, int bits) {
        double c = splitter(bits) * x;
        return bits == Engine.FULL_GRID ? x : c - (c - x);
    }
}
