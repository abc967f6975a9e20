package hypertransfer.train;

/** SplitMix64 (Steele, Lea and Flood 2014). Written out here, because the JDK promises no algorithm for its own. */
public final class SplitMix {
    private static final long GAMMA = 0x9e3779b97f4a7c15L;

    private SplitMix() {}

    /** Number k of the stream that a seed begins: from 0 to less than 1, 53 bits. */
    public static double uniform(long seed, long k) {
        return (mix(seed + k * GAMMA) >>> 11) * 0x1p-53;
    }

    /** The finalizer after one step of the counter: every bit of x reaches every bit of the result. */
    public static long mix(long x) {
        x += GAMMA;
        x = (x ^ x >>> 30) * 0xbf58476d1ce4e5b9L;
        x = (x ^ x >>> 27) * 0x94d049bb133111ebL;
        return x ^ x >>> 31;
    }
}
