package hypertransfer.train.network;

import hypertransfer.train.SplitMix;

/**
 * Normal numbers by Box and Muller, times a standard deviation, without those beyond a cut. They are what StrictMath gives,
 * {@code (float) (std * sqrt(-2 log a) * cos(2 pi u))}, so the bits are the same everywhere. Series without branches find
 * them, which a compiler turns into vector code. Only where the series' error could change the float, or whether the
 * number is cut away, StrictMath decides: about once in a hundred thousand numbers.
 */
final class Normals {
    private static final double CUT = 2;
    private static final int AT_ONCE = 512;
    private static final double LN2 = 0.6931471805599453;
    private static final long ROOT_HALF = 0x3fe6a09e667f3bcdL; // the bits of sqrt(1/2)
    /**
     * The series' errors are below 2^-48 of the result, and 2^-49 of the radius where the cosine is near zero: there the
     * rounding of StrictMath's argument counts. These are several times that.
     */
    private static final double RELATIVE = 0x1p-42, ABSOLUTE = 0x1p-46;

    private final double[] a = new double[AT_ONCE], u = new double[AT_ONCE];
    private final double[] m = new double[AT_ONCE], logs = new double[AT_ONCE];
    private final double[] radius = new double[AT_ONCE], cosine = new double[AT_ONCE];

    /**
     * Draws numbers and keeps those within the cut.
     *
     * @param random takes two numbers per number drawn
     * @param kept room for as many as are drawn
     * @return how many were kept
     */
    int draw(SplitMix random, int count, double std, float[] kept) {
        int at = 0;
        for (int left = count; left > 0; left -= AT_ONCE) {
            int n = Math.min(left, AT_ONCE);
            for (int i = 0; i < n; i++) {
                a[i] = 1 - uniform(random);
                u[i] = uniform(random);
                long bits = Double.doubleToRawLongBits(a[i]), k = (bits - ROOT_HALF) >> 52; // a = 2^k m
                m[i] = Double.longBitsToDouble(bits - (k << 52));
                logs[i] = k * LN2;
            }
            radii(m, logs, radius);
            cosines(u, cosine);
            for (int i = 0; i < n; i++) {
                double z = radius[i] * cosine[i], error = RELATIVE * Math.abs(z) + ABSOLUTE * radius[i];
                if ((float) (std * (z - error)) != (float) (std * (z + error))
                        || Math.abs(Math.abs(z) - CUT) <= error) {
                    z = exact(a[i], u[i]);
                }
                kept[at] =
                        (float) (std * z); // the next one takes its place unless it is kept: a branch would be guessed
                at += Math.abs(z) <= CUT ? 1 : 0;
            }
        }
        return at;
    }

    /** What all others stand for. */
    private static double exact(double a, double u) {
        return StrictMath.sqrt(-2 * StrictMath.log(a)) * StrictMath.cos(2 * Math.PI * u);
    }

    /** sqrt(-2 log a), where log a = logs + log m, m is near one, and log m = 2 (s + s^3/3 + ...) of s = (m - 1)/(m + 1). */
    private static void radii(double[] m, double[] logs, double[] radius) {
        for (int i = 0; i < AT_ONCE; i++) {
            double s = (m[i] - 1) / (m[i] + 1), q = s * s;
            double p = 1. / 9 + q * (1. / 11 + q * (1. / 13 + q * (1. / 15 + q / 17)));
            p = 1 + q * (1. / 3 + q * (1. / 5 + q * (1. / 7 + q * p)));
            radius[i] = Math.sqrt(-2 * (logs[i] + 2 * s * p));
        }
    }

    /** cos(2 pi u) = sin(y) with y = 2 pi (|u - 1/2| - 1/4), whose last factor is exact; y - y^3/3! + y^5/5! - ... */
    private static void cosines(double[] u, double[] cosine) {
        for (int i = 0; i < AT_ONCE; i++) {
            double y = 2 * Math.PI * (Math.abs(u[i] - 0.5) - 0.25), q = y * y;
            double p = 1. / 6227020800L
                    - q * (1. / 1307674368000L - q * (1. / 355687428096000L - q / 121645100408832000L));
            p = 1. / 120 - q * (1. / 5040 - q * (1. / 362880 - q * (1. / 39916800 - q * p)));
            cosine[i] = y * (1 - q * (1. / 6 - q * p));
        }
    }

    /** From 0 to less than 1, 53 bits. */
    private static double uniform(SplitMix random) {
        return (random.next() >>> 11) * 0x1p-53;
    }
}
