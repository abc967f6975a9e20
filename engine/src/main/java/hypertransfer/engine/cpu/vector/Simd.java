package hypertransfer.engine.cpu.vector;

import jdk.incubator.vector.FloatVector;

/** What the Vector API makes of this processor. */
public final class Simd {
    private Simd() {}

    /** The width in bits of the vectors that Java computes with; zero if the JVM was started without the module. */
    public static int bits() {
        return ModuleLayer.boot().findModule("jdk.incubator.vector").isPresent() ? Preferred.BITS : 0;
    }

    /** Apart, so that a JVM without the module never links it. */
    private static final class Preferred {
        static final int BITS = FloatVector.SPECIES_PREFERRED.vectorBitSize();
    }
}
