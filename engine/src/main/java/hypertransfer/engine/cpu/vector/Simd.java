package hypertransfer.engine.cpu.vector;

import jdk.incubator.vector.FloatVector;

/** What the Vector API makes of this processor. */
public final class Simd {
    private Simd() {}

    /** The width in bits of the vectors that Java computes with; zero if the JVM was started without them. */
    public static int bits() {
        try {
            return Preferred.BITS;
        } catch (NoClassDefFoundError e) {
            return 0;
        }
    }

    /** Apart, so that a JVM without vectors can load this class. */
    private static final class Preferred {
        static final int BITS = FloatVector.SPECIES_PREFERRED.vectorBitSize();
    }
}
