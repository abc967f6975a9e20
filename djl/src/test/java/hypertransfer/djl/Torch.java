package hypertransfer.djl;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

/** The tests' engine. */
final class Torch {
    private Torch() {}

    /** Skips the test, and says why, where Maven brought no libtorch for this platform. */
    static void required() {
        boolean there = Torch.class.getClassLoader().getResource("native/lib/pytorch.properties") != null;
        assumeTrue(
                there,
                () -> "no libtorch for " + System.getProperty("os.name") + " " + System.getProperty("os.arch")
                        + " on the class path: not tested here");
    }
}
